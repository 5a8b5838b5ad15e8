// RANDOMKEY: a key of the store, chosen at random.
//
// In a database with few keys, all are equally likely. In one with many, a random text between its
// first and its last key is made, and one of the keys after it is chosen, because rows cannot be
// found by their number. So keys after a gap are chosen more often.
#include <algorithm>
#include <string>
#include <vector>

#include "frontend/resp/numbers.h"
#include "frontend/resp/scan.h"
#include "frontend/resp/scanned_rows.h"
#include "frontend/resp/string_row.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::Value;

namespace {

/// How many random bytes follow the prefix that all keys share.
constexpr size_t kProbeBytes = 6;

uint64_t NumberOf(std::string_view key, size_t from) {
  uint64_t number = 0;
  for (size_t i = from; i < from + kProbeBytes; ++i) {
    number = number << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
  }
  return number;
}

/// A random text that is neither before `first` nor after `last`.
std::string Between(std::string_view first, std::string_view last) {
  const auto differs = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const auto common = static_cast<size_t>(differs - first.begin());
  const uint64_t low = NumberOf(first, common), high = std::max(low, NumberOf(last, common));
  const uint64_t number = low + RandomNumber(high - low + 1);
  std::string text(first.substr(0, common));
  for (size_t i = kProbeBytes; i-- > 0;)
    text.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  return text;
}

/// Finds rows of the database, and appends the keys of those that have not expired and are not
/// hidden by a keyspace.
Outcome FindKeys(const RespCall& call, const model::Request& request, engine::Session& session,
                 std::vector<std::string>* keys, size_t* rows) {
  RespScannedRows found(call.index->columns());
  const Outcome outcome = session.Execute(*call.index, request, found);
  *rows = found.rows().size();
  for (const RespScannedRows::Row& row : found.rows()) {
    const auto& expires = row[kScannedExpires];
    if (row[kScannedDatabase] != std::string(call.scan->database)) continue;
    if (expires && IsExpired(Value(std::string_view(*expires)))) continue;
    const auto& key = row[kScannedKey];
    if (key && MeansItsRow(*call.scan, *key)) keys->push_back(*key);
  }
  return outcome;
}

}  // namespace

Outcome ExecuteRandomKey(RespWork& work, const RespCall& call, engine::Session& session,
                         base::Buffer& out) {
  std::vector<std::string> keys;
  size_t rows = 0;
  Outcome outcome = FindKeys(call, call.request, session, &keys, &rows);
  if (!outcome.ok()) return outcome;
  if (rows == call.request.find.limit) {
    // Finds the last key of the database.
    model::Request request = call.request;
    request.find.filters = {};
    request.find.op = model::CompareOp::kLe;
    request.find.key = call.request.find.key.first(1);
    request.find.key_parts_given = 1;
    request.find.limit = 1;
    std::vector<std::string> last;
    outcome = FindKeys(call, request, session, &last, &rows);
    if (!outcome.ok()) return outcome;
    // The rows after the text may have expired and not been purged yet; a replica never purges.
    if (keys.empty()) keys = last;
    const std::string first = keys.empty() || keys == last ? std::string() : keys.front();
    const std::string probe = last.empty() ? first : Between(first, last.front());
    const Value key[] = {call.request.find.key[0], Value(std::string_view(probe))};
    request = call.request;
    request.find.key = key;
    request.find.limit = model::kRespRandomOfPartMax;
    std::vector<std::string> some;
    outcome = FindKeys(call, request, session, &some, &rows);
    if (!outcome.ok()) return outcome;
    if (!some.empty()) keys = std::move(some);
  }
  if (keys.empty())
    resp::AppendNil(work.version, &out);
  else
    resp::AppendBulk(keys[RandomNumber(keys.size())], &out);
  return outcome;
}

}  // namespace rowsocket::frontend
