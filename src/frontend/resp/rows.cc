#include "frontend/resp/rows.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/require.h"
#include "frontend/resp/expiry.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/random_fields.h"
#include "frontend/resp/row_change.h"
#include "frontend/resp/row_reply.h"
#include "frontend/resp/scan.h"
#include "frontend/resp/store.h"
#include "frontend/resp/watch.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::Value;
using Verb = RespVerb;

namespace {

/// Whether the command reads all columns but those of the key.
bool ReadsAll(Verb verb) {
  return verb == Verb::kHGetAll || verb == Verb::kHLen || verb == Verb::kHKeys ||
         verb == Verb::kHVals || verb == Verb::kHScan || verb == Verb::kHRandField ||
         verb == Verb::kMemoryUsage || verb == Verb::kWatch || verb == Verb::kCheckWatch;
}

bool ParseOp(std::string_view text, model::CompareOp* op) {
  constexpr std::pair<std::string_view, model::CompareOp> kOps[] = {
      {"=", model::CompareOp::kEq},  {"!=", model::CompareOp::kNe}, {">", model::CompareOp::kGt},
      {">=", model::CompareOp::kGe}, {"<", model::CompareOp::kLt},  {"<=", model::CompareOp::kLe}};
  static_assert(std::size(kOps) == model::kCompareOps);
  for (const auto& [name, known] : kOps) {
    if (name != text) continue;
    *op = known;
    return true;
  }
  return false;
}

/// Whether a number is written as a column with ZEROFILL shows it.
bool IsFilledUp(std::string_view text, const engine::ColumnFacts& column) {
  return text.size() == column.zerofill_digits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether no row can have the key, because a number in it is not written as the server writes it.
/// The engine is asked for the columns' types only where a part looks like such a number.
bool KeyHasUncanonicalNumber(const RespCall& call, engine::Session& session) {
  static constexpr std::string_view kOfNumbers = "0123456789+-.eE \t\n\v\f\r";
  const auto is_uncanonical = [](const Value& part) {
    const std::string_view text = part.text();
    return IsUncanonicalNumber(text) &&
           text.find_first_not_of(kOfNumbers) == std::string_view::npos;
  };
  if (std::none_of(call.key.parts.begin(), call.key.parts.end(), is_uncanonical)) return false;
  engine::IndexFacts facts;
  if (!session.Inspect(*call.index, &facts).ok()) return false;
  for (size_t i = 0; i < call.key.parts.size() && i < facts.key.size(); ++i) {
    const bool is_integer = facts.key[i].kind == engine::ColumnFacts::Kind::kInteger;
    if (!is_integer || IsFilledUp(call.key.parts[i].text(), facts.key[i])) continue;
    if (is_uncanonical(call.key.parts[i])) return true;
  }
  return false;
}

/// Appends the reply to HSCAN: all fields at once, so that the cursor is 0.
void AppendScanned(size_t texts, std::string_view cells, base::Buffer& out) {
  resp::AppendArray(2, &out);
  resp::AppendBulk("0", &out);
  resp::AppendArray(texts, &out);
  out.Append(cells);
}

std::string_view TakeFieldScan(RespCall& call, base::Arena& arena) {
  uint64_t cursor = 0;
  if (!ParseCursor(call.arguments[2], &cursor)) return "ERR invalid cursor";
  RespFieldList& list = *(call.field_list = &arena.Allocate<RespFieldList>(1)[0]);
  for (size_t i = 3; i < call.arguments.size(); ++i) {
    const bool has_next = i + 1 < call.arguments.size();
    if (IsWord(call.arguments[i], "novalues")) {
      list.without_values = true;
    } else if (IsWord(call.arguments[i], "match") && has_next) {
      list.pattern = call.arguments[++i];
      if (list.pattern.size() > model::kRespPatternBytesMax) return kRespLongPattern;
    } else if (IsWord(call.arguments[i], "count") && has_next) {
      int64_t count = 0;
      if (!ParsePlainInteger(call.arguments[++i], &count)) return kNoInteger;
      if (count < 1) return kSyntax;
    } else {
      return kSyntax;
    }
  }
  return {};
}

void AppendAbsent(RespWork& work, const RespCall& call, base::Buffer& out) {
  switch (call.verb) {
    case Verb::kHGet:
    case Verb::kMemoryUsage:
    case Verb::kObjectEncoding:
      return resp::AppendNil(work.version, &out);
    case Verb::kHMGet:
      resp::AppendArray(call.arguments.size() - 2, &out);
      for (size_t i = 2; i < call.arguments.size(); ++i) resp::AppendNil(work.version, &out);
      return;
    case Verb::kHGetAll:
      return resp::AppendMap(0, work.version, &out);
    case Verb::kHKeys:
    case Verb::kHVals:
      return resp::AppendArray(0, &out);
    case Verb::kHScan:
      return AppendScanned(0, {}, out);
    case Verb::kHRandField:
      // Without fields the reply is empty, whatever its limit.
      AppendRandomFields(work.version, call, {}, /*bytes_max=*/0, &out);
      return;
    case Verb::kType:
      return resp::AppendSimple("none", &out);
    case Verb::kTtl:
    case Verb::kExpireTime:
      return resp::AppendInteger(-2, &out);
    case Verb::kRowRequire:
      return;
    case Verb::kHExists:
    case Verb::kHLen:
    case Verb::kHStrLen:
    case Verb::kHDel:
    case Verb::kDel:
    case Verb::kExists:
    case Verb::kPersist:
    case Verb::kExpire:
      return AppendCounted(work, call, 0, out);
    default:
      ROWSOCKET_REQUIRE(!"a command has no reply where there is no row");
      return resp::AppendNil(work.version, &out);
  }
}

void AppendFound(RespWork& work, const RespCall& call, const RespRowReply& row,
                 std::string_view cells, base::Buffer& out) {
  switch (call.verb) {
    case Verb::kHGetAll:
      resp::AppendMap(row.fields(), work.version, &out);
      out.Append(cells);
      return;
    case Verb::kHKeys:
    case Verb::kHVals:
      resp::AppendArray(row.fields(), &out);
      out.Append(cells);
      return;
    case Verb::kHScan:
      return AppendScanned(row.fields() * (call.field_list->without_values ? 1 : 2), cells, out);
    case Verb::kHExists:
    case Verb::kHLen:
      return resp::AppendInteger(static_cast<int64_t>(row.fields()), &out);
    case Verb::kHStrLen:
      return resp::AppendInteger(static_cast<int64_t>(row.size()), &out);
    case Verb::kType:
      return resp::AppendSimple("hash", &out);
    case Verb::kMemoryUsage:
      return resp::AppendInteger(
          static_cast<int64_t>(call.arguments[call.key_at].size() + row.bytes()), &out);
    case Verb::kObjectEncoding:
      return resp::AppendBulk("listpack", &out);
    case Verb::kTtl:
    case Verb::kExpireTime:
      return resp::AppendInteger(ExpiryAnswer(call, row.expires_ms()), &out);
    case Verb::kPersist:
      return resp::AppendInteger(0, &out);
    case Verb::kRowRequire:
      return resp::AppendSimple("OK", &out);
    case Verb::kDel:
    case Verb::kExists:
      return AppendCounted(work, call, 1, out);
    default:
      ROWSOCKET_REQUIRE(!"a command that reads a row has no reply");
      return resp::AppendNil(work.version, &out);
  }
}

/// Whether the command gives fields values; HDEL, which makes them NULL, does not.
bool PutsFields(Verb verb) { return ChangesFields(verb) && verb != Verb::kHDel; }

void NameFields(const RespCall& call, engine::IndexNames* names) {
  const auto& arguments = call.arguments;
  names->db = call.key.db;
  names->table = call.key.table;
  names->index = call.key.index;
  names->index_is_name = true;
  const Verb verb = call.verb;
  if (ReadsAll(verb)) {
    names->lists = engine::IndexNames::Lists::kAllButKey;
    // A watched row is compared as a whole, with the columns that a DDL statement adds meanwhile.
    names->keeps_listed_columns = verb == Verb::kWatch || verb == Verb::kCheckWatch;
    if (!names->keeps_listed_columns) ShowFields(call, /*all=*/true, names);
    return;
  }
  if (verb == Verb::kRowRequire) {
    names->filter_columns.emplace_back(arguments[2]);
    return;
  }
  if (!NamesFields(verb)) return;
  if (TraitsOf(verb).fields == RespFields::kPairs) {
    for (size_t i = 2; i + 1 < arguments.size(); i += 2) names->columns.emplace_back(arguments[i]);
    LeaveEachOnce(&names->columns);
  } else if (verb == Verb::kHMGet) {
    names->columns.assign(arguments.begin() + 2, arguments.end());
  } else if (verb == Verb::kHDel) {
    names->columns.assign(arguments.begin() + 2, arguments.end());
    LeaveEachOnce(&names->columns);
  } else {
    names->columns.emplace_back(arguments[2]);
  }
  ShowFields(call, /*all=*/false, names);
}

Outcome ExecuteChange(RespWork& work, const RespCall& call, engine::Session& session,
                      base::Buffer& out) {
  engine::IndexFacts facts;
  if (NeedsFacts(call)) {
    const Outcome outcome = session.Inspect(*call.index, &facts);
    if (!outcome.ok()) return outcome;
    facts.columns.resize(call.index->columns());
  }
  RespRowChange change(call, facts.columns);
  model::Request request = call.request;
  request.edit.editor = &change;
  model::NoRows none;
  Outcome outcome = session.Execute(*call.index, request, none);
  if (!outcome.ok()) return outcome;
  work.bytes_read += change.bytes_read();
  StopIfThere(call, change.saw_row(), &outcome);
  if (!change.wrong().empty()) {
    return RefuseWith(work, change.wrong());
  }
  if (call.script != RespScript::kNone)
    AppendOfFieldScript(work.version, call, change, out);
  else if (call.verb == Verb::kDel)
    AppendCounted(work, call, change.answer(), out);
  else if (call.verb == Verb::kHMSet)
    resp::AppendSimple("OK", &out);
  else if (call.verb == Verb::kHIncrByFloat)
    resp::AppendBulk(change.made(), &out);
  else
    resp::AppendInteger(change.answer(), &out);
  return outcome;
}

}  // namespace

bool AsksFrequency(const RespCall& call) {
  return call.verb == Verb::kObjectEncoding && IsWord(call.arguments[1], "freq");
}

void NameColumns(const RespCall& call, engine::IndexNames* names) {
  if (call.scan != nullptr) return NameScanned(call, names);
  if (call.is_string) return NameStore(call, names);
  NameFields(call, names);
  // If all columns are listed, the column of expiry is among them.
  const bool adds =
      call.expiring_rows != nullptr && names->lists == engine::IndexNames::Lists::kNamed;
  if (adds) names->columns.push_back(call.expiring_rows->definition.expire_time_column);
  // Another value in a column of the key would make another key's row of it.
  if (PutsFields(call.verb)) names->lists = engine::IndexNames::Lists::kNamedOutsideKey;
}

std::string_view PrepareCall(RespCall& call, const model::Account* account, base::Arena& arena) {
  model::Request& request = call.request;
  request.account = account;
  if (call.scan != nullptr) return PrepareScan(call, arena);
  if (call.is_string) return PrepareString(call, arena);
  if (call.key.has_wrong_escape)
    return "NOROW a backslash in a key stands before a colon or a backslash";
  if (call.verb == Verb::kExpire && call.expiring_rows == nullptr) {
    return "NOTSERVED rows of this key have no expiry: rowsocket.keyspaces may name a column of it "
           "(expires)";
  }
  if (call.expiring_rows != nullptr && ExpiryColumnAt(call) == kNoColumn) {
    return "NOSTORE the column of expiry of this prefix is not in its table";
  }
  const auto parts = static_cast<uint32_t>(call.key.parts.size());
  int64_t number = 0;
  if (call.verb == Verb::kHIncrBy && !ParsePlainInteger(call.arguments[3], &number)) {
    return kNoInteger;
  }
  long double fraction = 0;
  if (call.verb == Verb::kHIncrByFloat && !ParseFloat(call.arguments[3], &fraction)) {
    return kNoFloat;
  }
  if (!std::isfinite(fraction)) return "ERR value is NaN or Infinity";
  if (IsRowChange(call)) {
    PrepareRowChange(call, arena);
    return call.verb == Verb::kExpire ? PrepareExpire(call, arena) : std::string_view();
  }
  request.find.key = call.key.parts;
  request.find.key_parts_given = parts;
  // Without whole_key, a part of a key would find, or delete, one of the rows that have it.
  request.find.whole_key = true;
  if (call.verb == Verb::kHScan) return TakeFieldScan(call, arena);
  if (call.verb == Verb::kHRandField) return TakeRandomFields(call, arena);
  if (call.verb == Verb::kDel) request.find.modification = model::Modification::kDelete;
  if (call.verb == Verb::kRowRequire) {
    const std::span<model::Filter> filter = arena.Allocate<model::Filter>(1);
    if (!ParseOp(call.arguments[3], &filter[0].op)) {
      return "ERR the operator of ROW.REQUIRE is one of = != > >= < <=";
    }
    filter[0].value = Value(call.arguments[4]);
    request.find.filters = filter;
  }
  return {};
}

namespace {

/// Executes HGET and HMGET. The number of cells is known before, so that they are written directly
/// into the reply.
Outcome ExecuteGet(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                   engine::Session& session, base::Buffer& out) {
  const size_t begin = out.size();
  if (call.verb == Verb::kHMGet) resp::AppendArray(call.arguments.size() - 2, &out);
  RespRowReply row(call, work.version, reply_bytes_max, out);
  Outcome outcome = session.Execute(*call.index, call.request, row);
  if (!outcome.ok()) return outcome;
  work.bytes_read += row.bytes_read();
  if (row.is_expired()) outcome.rows = 0;
  CountLookup(work, call, outcome.rows != 0);
  if (outcome.rows != 0) {
    row.AppendRest();
  } else {
    out.Truncate(begin);
    AppendAbsent(work, call, out);
  }
  StopIfThere(call, outcome.rows != 0, &outcome);
  return outcome;
}

}  // namespace

bool NoRowCanHaveKey(const RespCall& call, engine::Session& session) {
  return call.is_string ? call.key_cannot_exist : KeyHasUncanonicalNumber(call, session);
}

namespace {

Outcome ExecuteWithoutExplaining(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                                 engine::Session& session, base::Buffer& out) {
  if (call.scan != nullptr) return ExecuteScan(work, call, reply_bytes_max, session, out);
  if (call.watch.image != nullptr) {
    return ExecuteWatch(work, call, /*may_be_there=*/!NoRowCanHaveKey(call, session), session, out);
  }
  if (call.is_string) return ExecuteString(work, call, session, out);
  if (KeyHasUncanonicalNumber(call, session)) {
    const bool only_removes = call.verb == Verb::kHDel && call.script == RespScript::kNone;
    if (ChangesFields(call.verb) && !only_removes) {
      return RefuseWith(work,
                        "CONSTRAINT a number in the key is not written as the server writes it");
    }
    CountLookup(work, call, /*is_found=*/false);
    AppendAbsent(work, call, out);
    Outcome outcome;
    StopIfThere(call, /*is_there=*/false, &outcome);
    return outcome;
  }
  if (IsRowChange(call)) return ExecuteChange(work, call, session, out);
  if (IsOfGivenFields(call.verb)) return ExecuteGet(work, call, reply_bytes_max, session, out);
  thread_local base::Buffer cells;
  if (cells.capacity() > model::kKeptValueBytesMax) cells.Release();
  cells.Truncate(0);
  RespRowReply row(call, work.version, reply_bytes_max, cells);
  Outcome outcome = session.Execute(*call.index, call.request, row);
  if (!outcome.ok()) return outcome;
  work.bytes_read += row.bytes_read();
  if (row.is_expired()) outcome.rows = 0;
  CountLookup(work, call, outcome.rows != 0);
  if (outcome.rows != 0 && AsksFrequency(call)) return RefuseWith(work, kRespNoFrequency);
  if (outcome.rows == 0) {
    AppendAbsent(work, call, out);
  } else if (call.verb == Verb::kHRandField) {
    if (!AppendRandomFields(work.version, call, row.pairs(), reply_bytes_max, &out))
      return Outcome::Fail(model::ErrorCode::kResultsize);
  } else {
    AppendFound(work, call, row, cells.view(), out);
  }
  StopIfThere(call, outcome.rows != 0, &outcome);
  return outcome;
}

}  // namespace

Outcome ExecuteCall(RespWork& work, const RespCall& call, size_t reply_bytes_max,
                    engine::Session& session, base::Buffer& out) {
  const Outcome outcome = ExecuteWithoutExplaining(work, call, reply_bytes_max, session, out);
  if (outcome.error.code != model::ErrorCode::kKpnum || call.is_string) return outcome;
  engine::IndexFacts facts;
  const bool is_known = session.Inspect(*call.index, &facts).ok();
  if (!is_known || facts.is_unique) return outcome;
  return RefuseWith(
      work,
      "NOTSERVED a key of an index that is not unique names no row: use a unique one, or SQL");
}

}  // namespace rowsocket::frontend
