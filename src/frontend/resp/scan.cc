#include "frontend/resp/scan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/require.h"
#include "engine/statements.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/scanned_rows.h"
#include "frontend/resp/store.h"
#include "frontend/resp/string_row.h"
#include "keyspace/codec.h"
#include "keyspace/delete_rows.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::ErrorCode;
using model::Value;
using Verb = RespVerb;

namespace {

constexpr uint64_t kCountWithoutOption = 10;
constexpr std::string_view kNoCursor = "ERR invalid cursor";

/// How many rows a command without COUNT looks at. RANDOMKEY: as many as it chooses from; others:
/// one more than they need, to see whether there are more.
uint64_t RowsOf(Verb verb) {
  if (verb == Verb::kRandomKey) return model::kRespRandomOfAllMax;
  return (verb == Verb::kInfoKeys ? model::kRespInfoKeysMax : model::kRespScanRowsMax) + 1;
}

std::string_view TakeScanOptions(const RespCall& call, RespScan* scan) {
  const auto& arguments = call.arguments;
  if (!ParseCursor(arguments[1], &scan->cursor)) return kNoCursor;
  for (size_t i = 2; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return kSyntax;
    const std::string_view value = arguments[i + 1];
    if (IsWord(arguments[i], "match")) {
      if (value.size() > model::kRespPatternBytesMax) return kRespLongPattern;
      scan->pattern = value;
    } else if (IsWord(arguments[i], "type")) {
      scan->type = value;
    } else if (IsWord(arguments[i], "count")) {
      int64_t rows = 0;
      if (!ParsePlainInteger(value, &rows)) return kNoInteger;
      if (rows < 1) return kSyntax;
      scan->rows = std::min(static_cast<uint64_t>(rows), model::kRespScanRowsMax);
    } else {
      return kSyntax;
    }
  }
  // COUNT is only a hint, also in Redis.
  if (!scan->pattern.empty()) {
    const uint64_t rows_max = model::kRespScanPatternBytesMax / scan->pattern.size();
    scan->rows = std::min(scan->rows, std::max(rows_max, kCountWithoutOption));
  }
  return {};
}

/// The prefix of all texts that match the pattern: its literal beginning, without escapes.
std::string_view LiteralFront(std::string_view pattern, base::Arena& arena) {
  const std::string_view plain = pattern.substr(0, pattern.find_first_of("*?[\\"));
  if (plain.size() == pattern.size() || pattern[plain.size()] != '\\') return plain;
  std::string front(plain);
  for (size_t i = plain.size(); i < pattern.size(); ++i) {
    const char byte = pattern[i];
    if (byte == '*' || byte == '?' || byte == '[') break;
    const bool is_escaped = byte == '\\' && i + 1 < pattern.size();
    front.push_back(is_escaped ? pattern[++i] : byte);
  }
  return arena.Copy(front);
}

/// The least text that is greater than all that begin with the prefix; empty: there is none.
std::string FirstTextAfterPrefix(std::string_view prefix) {
  std::string text(prefix);
  while (!text.empty() && text.back() == '\xff') text.pop_back();
  if (!text.empty()) text.back() = static_cast<char>(static_cast<unsigned char>(text.back()) + 1);
  return text;
}

/// The position of the key's first part among the scanned columns: after the expiry, if there is
/// one.
size_t KeyBegin(const RespCall& call) {
  const keyspace::Container* const rows =
      call.container != nullptr ? call.container : call.expiring_rows;
  return rows == nullptr || rows->expiry == keyspace::ExpiryKind::kNone ? 0 : 1;
}

/// Whether the first of the scanned columns says that the row has expired.
bool HasExpired(const RespCall& call, const RespScannedRows::Row& row) {
  if (KeyBegin(call) == 0 || !row[0]) return false;
  return keyspace::ExpiryFromCell(Value(std::string_view(*row[0]))) <= call.keyspaces->NowMs();
}

/// The text of an integer as a key has it: a column with ZEROFILL shows zeros before it.
std::string_view WithoutZeros(std::string_view text) {
  const size_t first = text.find_first_not_of('0');
  if (first != std::string_view::npos) return text.substr(first);
  return text.substr(0, 1);
}

/// The key that names the row of a container; without a value: the row has none.
std::optional<std::string> KeyOfItem(const RespCall& call, const RespScannedRows::Row& row) {
  const keyspace::Container& container = *call.container;
  const size_t begin = KeyBegin(call);
  std::string key(call.scan->prefix);
  base::Buffer joined;
  for (const keyspace::KeyPart& part : container.key) {
    const auto& cell = row[begin + part.index_part];
    if (!cell) return std::nullopt;
    const std::string_view text = part.is_integer ? WithoutZeros(*cell) : std::string_view(*cell);
    if (container.key.size() == 1) return key.append(text);
    if (&part != &container.key.front()) joined.Append(container.separator);
    keyspace::AppendColumn(Value(text), container.separator, joined);
  }
  return key.append(joined.view());
}

/// The key that names the row; without a value: it has none, or has expired.
std::optional<std::string> KeyOf(const RespCall& call, const RespScannedRows::Row& row) {
  if (HasExpired(call, row)) return std::nullopt;
  if (call.container != nullptr) return KeyOfItem(call, row);
  if (call.is_string) {
    if (row[kScannedExpires] && IsExpired(Value(std::string_view(*row[kScannedExpires]))))
      return std::nullopt;
    return row[kScannedKey];
  }
  std::string key(call.scan->prefix);
  const size_t begin = KeyBegin(call);
  for (size_t i = begin; i < row.size(); ++i) {
    if (!row[i]) return std::nullopt;
    if (i != begin) key.push_back(':');
    for (const char byte : *row[i]) {
      if (byte == ':' || byte == '\\') key.push_back('\\');
      key.push_back(byte);
    }
  }
  return key;
}

RespCursors::Position PositionOf(const RespCall& call, const RespScannedRows::Row& row) {
  RespCursors::Position position{std::string(call.scan->space), {}};
  const size_t begin = KeyBegin(call);
  const size_t end = IsOfStore(call) ? kScannedKey + 1 : row.size();
  // A unique index may have many rows with NULL, which no key names: the scan goes on after them.
  for (size_t i = begin; i < end; ++i) position.key.push_back(row[i]);
  return position;
}

/// Why the keys of the index cannot be listed; empty: they can be.
std::string_view WhyNotListed(const engine::IndexFacts& facts) {
  // If several rows had one key, the next page would leave out all but the first.
  if (!facts.is_unique)
    return "NOTSERVED keys of an index that is not unique are not listed: use a unique one, or SQL";
  // Whole columns would be read, and one value of TEXT or BLOB may have gigabytes.
  if (facts.has_prefix)
    return "NOTSERVED keys of an index on the front of a column are not listed: use another one, "
           "or SQL";
  // A text that may mean several values, such as a moment in the hour that a clock repeats, cannot
  // say where a scan goes on.
  const bool has_inexact =
      std::any_of(facts.key.begin(), facts.key.end(), [](const engine::ColumnFacts& column) {
        return column.kind == engine::ColumnFacts::Kind::kFloat ||
               column.kind == engine::ColumnFacts::Kind::kTimestamp;
      });
  if (has_inexact)
    return "NOTSERVED keys of FLOAT, DOUBLE and TIMESTAMP are not listed: use SELECT in SQL";
  return {};
}

/// Finds the rows that the command looks at.
Outcome FindListed(RespWork& work, const RespCall& call, engine::Session& session,
                   RespScannedRows* found) {
  if (!IsOfStore(call)) {
    engine::IndexFacts facts;
    const Outcome outcome = session.Inspect(*call.index, &facts);
    if (!outcome.ok()) return outcome;
    const std::string_view why = WhyNotListed(facts);
    if (!why.empty()) return RefuseWith(work, why);
  }
  const Outcome outcome = session.Execute(*call.index, call.request, *found);
  static_assert(model::kRespScannedBytesMax == size_t{64} << 20, "the text names the limit");
  if (!outcome.ok() && found->is_full())
    work.wrong = "TOOLARGE the keys that are looked at have more than 64 MiB: use a smaller COUNT";
  return outcome;
}

Outcome ListKeys(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                 engine::Session& session, base::Buffer& out) {
  const RespScan& scan = *call.scan;
  if (scan.lists_nothing) {
    resp::AppendArray(2, &out);
    resp::AppendBulk("0", &out);
    resp::AppendArray(0, &out);
    return {};
  }
  RespScannedRows found(call.index->columns());
  const Outcome outcome = FindListed(work, call, session, &found);
  if (!outcome.ok()) return outcome;
  const bool goes_on = found.rows().size() == call.request.find.limit;
  if (goes_on && call.verb == Verb::kKeys) {
    static_assert(model::kRespScanRowsMax == 10'000, "the text names the limit");
    return RefuseWith(work, "TOOLARGE KEYS looks at 10000 keys at most: use SCAN");
  }
  std::vector<std::string> keys;
  size_t bytes = 0, looked_at = 0;
  uint64_t steps = 0;
  for (; looked_at < found.rows().size() && steps <= model::kRespMatchStepsMax; ++looked_at) {
    std::optional<std::string> key = KeyOf(call, found.rows()[looked_at]);
    if (!key || !MatchesPattern(scan.pattern, *key, &steps)) continue;
    if (!MeansItsRow(scan, *key)) continue;
    bytes += key->size();
    if (bytes > reply_bytes_max) return Outcome::Fail(ErrorCode::kResultsize);
    keys.push_back(std::move(*key));
  }
  const bool is_cut = looked_at < found.rows().size();
  if (is_cut && call.verb == Verb::kKeys) {
    return RefuseWith(work, "TOOLARGE the pattern and the keys are too long for KEYS: use SCAN");
  }
  if (call.verb == Verb::kScan) {
    const uint64_t next =
        goes_on || is_cut
            ? scan.cursors->Keep(PositionOf(call, found.rows()[looked_at - 1]), scan.cursor)
            : 0;
    resp::AppendArray(2, &out);
    resp::AppendBulk(std::to_string(next), &out);
  }
  resp::AppendArray(keys.size(), &out);
  for (const std::string& key : keys) resp::AppendBulk(key, &out);
  return outcome;
}

// Rows are counted one by one up to a number that takes no time; if there are more, the statistics
// of the table say about how many.
Outcome CountKeys(const RespCall& call, engine::Session& session, base::Buffer& out) {
  RespScannedRows found(call.index->columns());
  Outcome outcome = session.Execute(*call.index, call.request, found);
  if (!outcome.ok()) return outcome;
  auto count = static_cast<uint64_t>(
      std::count_if(found.rows().begin(), found.rows().end(),
                    [&](const RespScannedRows::Row& row) { return KeyOf(call, row).has_value(); }));
  if (found.rows().size() == call.request.find.limit) {
    uint64_t estimate = 0;
    outcome = session.EstimateRows(*call.index, &estimate);
    if (!outcome.ok()) return outcome;
    count = std::max(count, estimate);
  }
  resp::AppendInteger(static_cast<int64_t>(count), &out);
  return outcome;
}

// Deletes in chunks, each after the last key of the chunk before, because an engine remembers all
// rows that one statement deletes. All chunks are one transaction.
Outcome Flush(const RespCall& call, engine::Session& session, base::Buffer& out) {
  Outcome all = keyspace::MayDeleteRows(session, *call.index, call.request);
  if (!all.ok()) return all;
  model::Request request = call.request;
  request.account = nullptr;
  std::string database, key;
  Value last[2];
  for (;;) {
    RespScannedRows found(call.index->columns());
    const Outcome outcome = session.Execute(*call.index, request, found);
    if (!outcome.ok()) return FailAfter(all, outcome);
    AddDone(outcome, &all);
    if (found.rows().empty()) break;
    const auto& row = found.rows().back();
    ROWSOCKET_REQUIRE(row[kScannedDatabase] && row[kScannedKey]);  // The primary key is not NULL.
    database = *row[kScannedDatabase];
    key = *row[kScannedKey];
    last[0] = Value(std::string_view(database));
    last[1] = Value(std::string_view(key));
    request.find.op = model::CompareOp::kGt;
    request.find.key = last;
    request.find.key_parts_given = 2;
  }
  resp::AppendSimple("OK", &out);
  return all;
}

/// Sets where a scan begins in the store, and which rows end it.
void PrepareStoreScan(const RespScan& scan, base::Arena& arena, model::Find* find) {
  if (scan.database.empty()) return;
  const std::string_view front = LiteralFront(scan.pattern, arena);
  const std::string after = FirstTextAfterPrefix(front);
  const std::span<Value> key = arena.Allocate<Value>(2);
  key[0] = Value(scan.database);
  key[1] = Value(front);
  find->key = key;
  const std::span<model::Filter> filters = arena.Allocate<model::Filter>(after.empty() ? 1 : 2);
  filters[0] = {/*stops_scan=*/true, model::CompareOp::kEq, kScannedDatabase, Value(scan.database)};
  if (!after.empty()) {
    filters[1] = {/*stops_scan=*/true, model::CompareOp::kLt, kScannedKey,
                  Value(arena.Copy(after))};
  }
  find->filters = filters;
}

// Sets what a scan is about: a pattern that begins with a keyspace's prefix, or with the name of a
// table, is only about the keys of that.
std::string_view LocateScan(std::string_view schema, const keyspace::Snapshot* keyspaces,
                            base::Arena& arena, RespCall* call) {
  RespScan& scan = *call->scan;
  const std::string_view front = LiteralFront(scan.pattern, arena);
  const keyspace::Keyspace* const keyspace =
      keyspaces != nullptr ? keyspaces->FindKeyspace(front) : nullptr;
  scan.keyspace = keyspace;
  const size_t colon = front.find(':');
  if (keyspace != nullptr) {
    const keyspace::KeyspaceDefinition& definition = *keyspace->definition;
    scan.prefix = definition.prefix;
    call->is_string = definition.kind == keyspace::KeyspaceDefinition::Kind::kValue;
    call->may_be_string = false;
    if (!call->is_string) {
      call->key = {definition.db, definition.table, definition.index, {}};
      if (definition.expires.empty()) return {};
      call->expiring_rows = keyspace->container;
      const bool is_usable = call->expiring_rows != nullptr && call->expiring_rows->usable();
      if (!is_usable) return "NOSTORE the column of expiry of this prefix cannot be used";
      call->index = call->expiring_rows->key_index.get();
      return {};
    }
    call->container = keyspace->container;
    const bool can_be_read = call->container != nullptr && call->container->usable();
    if (!can_be_read) return "NOSTORE the container of this prefix is not there, or is disabled";
    const std::string refusal = RefusalByPolicy(*call, /*writes=*/false, keyspaces->config.options);
    if (!refusal.empty()) return arena.Copy(refusal);
    call->index = call->container->key_index.get();
    call->key.db = call->container->definition.db;
    call->key.table = call->container->definition.table;
  } else if (colon != std::string_view::npos) {
    const std::string_view prefix = front.substr(0, colon + 1);
    if (!ParseRespKey(prefix, schema, arena, &call->key)) return {};
    scan.prefix = prefix;
    call->is_string = false;
  }
  return {};
}

}  // namespace

bool MeansItsRow(const RespScan& scan, std::string_view key) {
  return scan.keyspaces == nullptr || scan.keyspaces->FindKeyspace(key) == scan.keyspace;
}

std::string_view TakeScan(std::string_view schema, std::string_view database, RespCursors& cursors,
                          const keyspace::Snapshot* keyspaces, base::Arena& arena, RespCall* call) {
  RespScan& scan = arena.Allocate<RespScan>(1)[0];
  call->scan = &scan;
  scan.cursors = &cursors;
  scan.keyspaces = keyspaces;
  scan.database = database;
  scan.rows = kCountWithoutOption;
  const bool lists = call->verb == Verb::kScan || call->verb == Verb::kKeys;
  if (call->verb == Verb::kScan) {
    const std::string_view wrong = TakeScanOptions(*call, &scan);
    if (!wrong.empty()) return wrong;
  } else {
    scan.rows = RowsOf(call->verb);
    if (call->verb == Verb::kInfoKeys) scan.database = {};
  }
  if (call->verb == Verb::kKeys) {
    scan.pattern = call->arguments[1];
    if (scan.pattern.size() > model::kRespKeysPatternBytesMax) return kRespLongKeysPattern;
  }
  if (IsFlush(call->verb)) {
    const auto& arguments = call->arguments;
    const bool knows =
        arguments.size() == 1 ||
        (arguments.size() == 2 && (IsWord(arguments[1], "async") || IsWord(arguments[1], "sync")));
    if (!knows) return kSyntax;
    if (call->verb == Verb::kFlushAll) scan.database = {};
  }
  call->may_be_string = call->is_string = true;
  return lists ? LocateScan(schema, keyspaces, arena, call) : std::string_view();
}

void NameScanned(const RespCall& call, engine::IndexNames* names) {
  if (!call.is_string) {
    names->db = call.key.db;
    names->table = call.key.table;
    names->index = call.key.index;
    names->index_is_name = true;
    names->lists = engine::IndexNames::Lists::kKey;
    return;
  }
  NameStore(call, names);
  names->columns = {"db", "k", "expires"};
  names->filter_columns = {"db", "k"};
}

std::string_view PrepareScan(RespCall& call, base::Arena& arena) {
  RespScan& scan = *call.scan;
  model::Find& find = call.request.find;
  find.op = model::CompareOp::kGe;
  find.limit = IsFlush(call.verb) ? model::kFlushChunkRows : scan.rows;
  if (IsFlush(call.verb)) {
    find.modification = model::Modification::kDelete;
    find.wants_before_images = true;
  }
  if (IsOfStore(call)) PrepareStoreScan(scan, arena, &find);
  std::string space(IsOfStore(call) ? scan.database : call.key.db);
  space.append("/").append(call.key.table).append("/").append(call.key.index);
  scan.space = arena.Copy(space);
  const bool is_other_type =
      !scan.type.empty() && !IsWord(scan.type, call.is_string ? "string" : "hash");
  scan.lists_nothing = is_other_type;
  if (scan.cursor != 0) {
    RespCursors::Position position;
    if (!scan.cursors->Find(scan.cursor, &position) || position.space != space) return kNoCursor;
    const std::span<Value> key = arena.Allocate<Value>(position.key.size());
    for (size_t i = 0; i < key.size(); ++i)
      key[i] = position.key[i] ? Value(arena.Copy(*position.key[i])) : Value();
    find.op = model::CompareOp::kGt;
    find.key = key;
  }
  find.key_parts_given = static_cast<uint32_t>(find.key.size());
  return {};
}

Outcome ExecuteScan(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                    engine::Session& session, base::Buffer& out) {
  if (IsFlush(call.verb)) return Flush(call, session, out);
  if (call.verb == Verb::kRandomKey) return ExecuteRandomKey(work, call, session, out);
  if (call.verb == Verb::kDbSize) return CountKeys(call, session, out);
  return ListKeys(work, call, reply_bytes_max, session, out);
}

}  // namespace rowsocket::frontend
