// How many keys each database of the store has, for INFO.
#include <algorithm>
#include <map>
#include <string>

#include "frontend/resp/scan.h"
#include "frontend/resp/scanned_rows.h"
#include "frontend/resp/string_row.h"
#include "keyspace/time.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::Value;

namespace {

/// What INFO says about a database of the store.
struct DatabaseKeys {
  uint64_t rows = 0;  ///< How many rows were looked at.
  uint64_t keys = 0, expires = 0;
  double ttl_ms = 0;  ///< The sum of the times left of keys that expire.
  bool has_more = false;
};

void CountRow(const RespScannedRows::Row& row, int64_t now_ms, DatabaseKeys* counts) {
  ++counts->rows;
  const auto& cell = row[kScannedExpires];
  const int64_t moment_ms = cell ? MomentOf(Value(std::string_view(*cell))) : keyspace::kNever;
  if (moment_ms <= now_ms) return;
  ++counts->keys;
  if (moment_ms == keyspace::kNever) return;
  ++counts->expires;
  counts->ttl_ms += static_cast<double>(moment_ms - now_ms);
}

using KeysByDatabase = std::map<std::string, DatabaseKeys, std::less<>>;

// Counts database by database, in chunks, each after the last key of the chunk before. In a
// database with too many keys, the rest is passed over.
Outcome CountByDatabase(const RespCall& call, engine::Session& session, KeysByDatabase* counts) {
  model::Request request = call.request;
  std::string database, key;
  Value last[2];
  for (;;) {
    RespScannedRows found(call.index->columns());
    Outcome outcome = session.Execute(*call.index, request, found);
    if (!outcome.ok()) return outcome;
    for (const RespScannedRows::Row& row : found.rows()) {
      CountRow(row, keyspace::WallClockMs(), &(*counts)[row[kScannedDatabase].value_or("0")]);
    }
    if (found.rows().size() < request.find.limit) return outcome;
    database = found.rows().back()[kScannedDatabase].value_or("0");
    key = found.rows().back()[kScannedKey].value_or("");
    DatabaseKeys& counted = (*counts)[database];
    counted.has_more = counted.rows > model::kRespInfoKeysMax;
    last[0] = Value(std::string_view(database));
    last[1] = Value(std::string_view(key));
    request.find.op = model::CompareOp::kGt;
    request.find.key_parts_given = counted.has_more ? 1 : 2;
    request.find.key = std::span<const Value>(last, request.find.key_parts_given);
  }
}

}  // namespace

Outcome CountDatabases(const RespCall& call, engine::Session& session, std::string* lines) {
  KeysByDatabase counts;
  Outcome outcome = CountByDatabase(call, session, &counts);
  if (!outcome.ok()) return outcome;
  uint64_t counted = 0, estimate = 0, parts = 0;
  for (const auto& [database, of] : counts) {
    counted += of.keys;
    parts += of.has_more ? 1 : 0;
  }
  if (parts != 0) outcome = session.EstimateRows(*call.index, &estimate);
  if (!outcome.ok()) return outcome;
  const uint64_t more = parts == 0 ? 0 : (estimate - std::min(estimate, counted)) / parts;
  for (const auto& [database, of] : counts) {
    if (of.keys == 0) continue;
    const uint64_t keys = of.keys + (of.has_more ? more : 0);
    const auto expires = static_cast<uint64_t>(
        static_cast<double>(of.expires) * static_cast<double>(keys) / static_cast<double>(of.keys));
    const double ttl_ms = of.expires == 0 ? 0 : of.ttl_ms / static_cast<double>(of.expires);
    lines->append("db" + database + ":keys=" + std::to_string(keys) +
                  ",expires=" + std::to_string(expires) +
                  ",avg_ttl=" + std::to_string(static_cast<uint64_t>(ttl_ms)) + "\r\n");
  }
  return outcome;
}

}  // namespace rowsocket::frontend
