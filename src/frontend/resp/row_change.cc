#include "frontend/resp/row_change.h"

#include <charconv>
#include <cmath>

#include "base/require.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/string_change.h"
#include "frontend/resp/watch.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using model::CellChange;
using model::Decision;
using model::Value;
using Verb = RespVerb;

namespace {

/// Whether the server stores a value of its own for NULL, as in a TIMESTAMP NOT NULL.
bool IsFilledByServer(const engine::ColumnFacts& column) {
  return column.kind == engine::ColumnFacts::Kind::kTimestamp && !column.is_nullable;
}

/// The fields and values of HSET and HMSET; empty: another command.
std::span<const std::string_view> PairsOf(const RespCall& call) {
  if (TraitsOf(call.verb).fields != RespFields::kPairs) return {};
  return call.arguments.subspan(2);
}

}  // namespace

bool IsRowChange(const RespCall& call) {
  const Verb verb = call.verb;
  return ChangesFields(verb) ||
         (call.expiring_rows != nullptr &&
          (verb == Verb::kDel || verb == Verb::kExpire || verb == Verb::kPersist));
}

bool NeedsFacts(const RespCall& call) {
  return call.verb == Verb::kHIncrByFloat || call.verb == Verb::kHDel;
}

void PrepareRowChange(RespCall& call, base::Arena& arena) {
  model::Request& request = call.request;
  model::Edit& edit = request.edit;
  const Verb verb = call.verb;
  request.verb = model::Request::Verb::kEdit;
  edit.key = call.key.parts;
  edit.may_insert = MakesRows(verb) && TraitsOf(call.script).effect != RespEffect::kUpdate &&
                    (call.keyspace == nullptr || call.keyspace->inserts);
  edit.may_delete = verb == Verb::kDel || verb == Verb::kExpire;
  edit.keeps_key = true;
  if (verb == Verb::kDel) return;
  const std::span<uint32_t> columns = arena.Allocate<uint32_t>(call.index->columns());
  for (uint32_t i = 0; i < columns.size(); ++i) columns[i] = i;
  // The column of expiry, the last one, is set only if a row is made.
  const bool leaves_expiry =
      call.expiring_rows != nullptr && ChangesFields(verb) && !edit.may_insert;
  edit.may_update = columns.first(columns.size() - (leaves_expiry ? 1 : 0));
}

// There is at most one change for each column.
RespRowChange::RespRowChange(const RespCall& call, std::span<const engine::ColumnFacts> columns)
    : call_(call), columns_(columns), given_(PairsOf(call)), expiry_at_(ExpiryColumnAt(call)) {
  if (call.index->columns() <= kFew) return;
  many_.resize(call.index->columns());
  changes_ = many_.data();
}

// An expired row counts as absent, and the row that replaces it takes over none of its values. DEL
// leaves it to the purge: deleting it would change the rows that refer to it, or fail because of
// them, although the client is told that there is no such key.
Decision RespRowChange::Decide(std::span<const Value> row, std::span<const CellChange>* changes) {
  count_ = 0;
  answer_ = 0;
  wrong_ = {};
  deletes_ = false;
  const bool has_row = !row.empty();
  bytes_shown_ = 0;
  for (const Value& cell : row) bytes_shown_ += cell.text().size();
  if (has_row && expiry_at_ != kNoColumn && IsExpired(call_, row[expiry_at_])) row = {};
  saw_row_ = !row.empty();
  if (MustBeAbsent(call_) && saw_row_) return Decision::kKeep;
  Make(row);
  if (!saw_row_ && count_ != 0 && expiry_at_ != kNoColumn) PutExpiry(keyspace::kNever);
  *changes = std::span(changes_, count_);
  if (deletes_) return Decision::kDelete;
  if (count_ == 0) return Decision::kKeep;
  return has_row && !saw_row_ ? Decision::kRenew : Decision::kStore;
}

void RespRowChange::PutExpiry(int64_t at_ms) {
  Put(static_cast<uint32_t>(expiry_at_),
      keyspace::ExpiryToCell(at_ms, *call_.expiring_rows, &expiry_text_));
}

void RespRowChange::Touch(std::span<const Value> row) {
  if (row.empty()) return;
  const int64_t expires_ms = keyspace::ExpiryFromCell(row[expiry_at_]);
  switch (call_.verb) {
    case Verb::kDel:
      deletes_ = true;
      break;
    case Verb::kPersist:
      if (expires_ms == keyspace::kNever) return;
      PutExpiry(keyspace::kNever);
      break;
    case Verb::kExpire: {
      const int64_t now_ms = call_.keyspaces->NowMs();
      const int64_t at_ms = ExpiryMsOf(*call_.string_command, now_ms);
      if (!MayExpire(*call_.string_command, expires_ms, at_ms)) return;
      deletes_ = at_ms <= now_ms;
      if (!deletes_) PutExpiry(at_ms);
      break;
    }
    default:
      ROWSOCKET_REQUIRE(!"a command that changes when a row expires has no change");
      return;
  }
  answer_ = 1;
}

void RespRowChange::Make(std::span<const Value> row) {
  const bool exists = !row.empty();
  const auto columns =
      static_cast<uint32_t>(call_.index->columns() - (expiry_at_ != kNoColumn ? 1 : 0));
  if (call_.script != RespScript::kNone && !MayChangeField(row, columns)) return;
  if (!exists && MakesRows(call_.verb) && call_.keyspace != nullptr && !call_.keyspace->inserts) {
    wrong_ = "NOROW there is no such row, and rowsocket.keyspaces lets no command make it";
    return;
  }
  switch (call_.verb) {
    case Verb::kDel:
    case Verb::kExpire:
    case Verb::kPersist:
      return Touch(row);
    case Verb::kHIncrBy:
      return Increment(row);
    case Verb::kHIncrByFloat:
      return IncrementFloat(row);
    case Verb::kHDel:
      for (uint32_t i = 0; exists && i < columns; ++i) {
        // The server computes a generated column whatever it is given.
        if (row[i].is_null() || columns_[i].is_generated) continue;
        if (IsFilledByServer(columns_[i])) {
          wrong_ = "CONSTRAINT a column cannot be NULL (1048)";
          count_ = 0;
          return;
        }
        Put(i, Value());
        ++answer_;
      }
      return;
    case Verb::kHSetNx:
      if (exists && !row[0].is_null()) return;
      PutGiven(0, call_.arguments[3]);
      answer_ = 1;
      return;
    case Verb::kHSet:
    case Verb::kHMSet:
      break;
    default:
      ROWSOCKET_REQUIRE(!"a command that changes a row has no change");
      return;
  }
  for (uint32_t i = 0; i < columns; ++i) {
    answer_ += !exists || row[i].is_null();
    const std::string_view* const value = given_.ValueOf(call_.index->names().columns[i]);
    PutGiven(i, value != nullptr ? *value : std::string_view());
  }
}

bool RespRowChange::MayChangeField(std::span<const Value> row, uint32_t columns) {
  has_old_ = !row.empty() && columns != 0 && !row[0].is_null();
  changes_field_ = false;
  if (has_old_ && row[0].text().size() > model::kRespStringBytesMax) {
    wrong_ = "TOOLARGE the field holds more than 16 MiB: use HGET, HSET or HDEL";
    return false;
  }
  made_ = has_old_ ? row[0].text() : std::string_view();
  if (ComparesField(call_.script)) {
    changes_field_ = has_old_ && made_ == call_.expected;
  } else {
    changes_field_ = has_old_ || TraitsOf(call_.script).effect != RespEffect::kUpdate;
  }
  return changes_field_;
}

void RespRowChange::Increment(std::span<const Value> row) {
  int64_t by = 0, now = 0;
  ParseInteger(call_.arguments[3], &by);
  if (row.empty()) {
    wrong_ = "NOROW there is no such row: HINCRBY does not insert one, HSET does";
    return;
  }
  if (!row[0].is_null() && !ParseInteger(row[0].text(), &now)) {
    wrong_ = "ERR hash value is not an integer";
    return;
  }
  if (__builtin_add_overflow(now, by, &answer_)) {
    wrong_ = "ERR increment or decrement would overflow";
    return;
  }
  const auto end = std::to_chars(text_, text_ + sizeof text_, answer_).ptr;
  PutTold(0, std::string_view(text_, static_cast<size_t>(end - text_)));
}

// A sum that the column cannot keep exactly is refused, so that the reply is what the row has.
void RespRowChange::IncrementFloat(std::span<const Value> row) {
  if (row.empty()) {
    wrong_ = "NOROW there is no such row: HINCRBYFLOAT does not insert one, HSET does";
    return;
  }
  using Kind = engine::ColumnFacts::Kind;
  const std::string_view now = row[0].is_null() ? "0" : row[0].text();
  const engine::ColumnFacts& column = columns_[0];
  const bool is_exact = column.kind == Kind::kInteger || column.kind == Kind::kDecimal;
  long double number = 0, by = 0;
  if (!ParseFloat(now, &number)) {
    wrong_ = "ERR hash value is not a float";
    return;
  }
  ParseFloat(call_.arguments[3], &by);
  if (!std::isfinite(number + by)) {
    wrong_ = "ERR increment would produce NaN or Infinity";
    return;
  }
  // For a number that is not decimal, such as 0x10, the digits of a long double are enough.
  const bool is_sum = AddDecimals(now, PlainDecimal(call_.arguments[3]), &made_) ||
                      AddDecimals(now, FormatFloat(by), &made_);
  if (!is_exact) {
    const long double sum = number + by;
    made_ = column.kind == Kind::kFloat ? FormatDouble(static_cast<double>(sum)) : FormatFloat(sum);
  } else if (!is_sum || DecimalsOf(made_) > column.decimals) {
    wrong_ = "CONSTRAINT the column has not as many digits as the sum";
    return;
  }
  PutTold(0, made_);
}

// A field whose value is computed stays, so that HDEL has not removed it.
void AppendOfFieldScript(resp::Version version, const RespCall& call, const RespRowChange& change,
                         base::Buffer& out) {
  const bool is_left = call.verb == Verb::kHDel && change.answer() == 0;
  switch (call.script) {
    case RespScript::kFieldFastReplace:
    case RespScript::kFieldCompareAndSet:
    case RespScript::kFieldRemoveIfEqual:
      return resp::AppendInteger(change.changes_field() && !is_left, &out);
    case RespScript::kFieldPut:
    case RespScript::kFieldPutIfAbsent:
    case RespScript::kFieldRemove:
    case RespScript::kFieldReplace:
      return change.has_old() && !is_left ? resp::AppendBulk(change.made(), &out)
                                          : resp::AppendNil(version, &out);
    default:
      ROWSOCKET_REQUIRE(!"a script that changes a field has no reply");
      return resp::AppendNil(version, &out);
  }
}

}  // namespace rowsocket::frontend
