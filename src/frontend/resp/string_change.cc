#include "frontend/resp/string_change.h"

#include <charconv>
#include <cmath>

#include "base/require.h"
#include "frontend/resp/watch.h"
#include "keyspace/codec.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using keyspace::CasKind;
using keyspace::Layout;
using model::CellChange;
using model::Decision;
using model::Value;
using Verb = RespVerb;

// A key that never expires counts as one that expires after any time.
bool MayExpire(const RespStringCommand& command, int64_t expires_ms, int64_t at_ms) {
  const bool expires = expires_ms != keyspace::kNever;
  return !(command.only_if_never && expires) && !(command.only_if_expires && !expires) &&
         !(command.only_if_later && at_ms <= expires_ms) &&
         !(command.only_if_sooner && at_ms >= expires_ms);
}

bool IsZero(std::string_view text) {
  long double number = 1;
  return ParseFloat(text, &number) && number == 0;
}

RespStringChange::RespStringChange(const RespCall& call) : call_(call), row_(call, text_) {
  if (call.container == nullptr || call.container->values == 1) return;
  many_.resize(call.container->values + keyspace::kItemColumnsBesidesValues);
  changes_ = many_.data();
}

Decision RespStringChange::Decide(std::span<const Value> row,
                                  std::span<const CellChange>* changes) {
  row_.TakeRow(row);
  has_row_ = !row.empty();
  is_there_ = row_.is_there();
  old_ = is_there_ ? row_.value() : std::string_view();
  number_ = 0;
  done_ = keeps_flags_ = deletes_ = false;
  bytes_made_ = 0;
  wrong_ = {};
  count_ = 0;
  if (command().expires == Expires::kAt) {
    now_ms_ = ExpiryClockMs(call_);
    at_ms_ = ExpiryMsOf(command(), now_ms_);
  }
  arena_.Reset();
  if (MustBeAbsent(call_) && is_there_) return Decision::kKeep;
  Decision decision = Decision::kKeep;
  if (row_.is_another())
    wrong_ = "CONSTRAINT the row has another key, which its columns take for equal";
  else
    decision = Make();
  if (!wrong_.empty()) decision = Decision::kKeep;
  deletes_ = decision == Decision::kDelete;
  // A new item of a container takes over no column of the one that has expired.
  const bool renews = decision == Decision::kStore && has_row_ && !is_there_;
  if (renews && call_.container != nullptr) decision = Decision::kRenew;
  *changes = std::span(changes_, count_);
  return decision;
}

Decision RespStringChange::Make() {
  switch (call_.verb) {
    case Verb::kDel:
    case Verb::kGetDel:
      // An expired row is left to the purge: deleting it would change the rows that refer to it, or
      // fail because of them, although the client is told that there is no such key.
      done_ = is_there_;
      return done_ ? Decision::kDelete : Decision::kKeep;
    case Verb::kMoveRemove:
      return call_.move->is_put ? Decision::kDelete : Decision::kKeep;
    case Verb::kMovePut:
      return call_.move->is_taken ? Set() : Decision::kKeep;
    case Verb::kExpire:
      return Expire();
    case Verb::kPersist:
      done_ = is_there_ && expires();
      return done_ ? Change(std::nullopt, Expires::kNever) : Decision::kKeep;
    case Verb::kGetEx:
      done_ = is_there_;
      if (is_there_) wrong_ = command().wrong_if_there;
      if (!is_there_ || !wrong_.empty() || command().expires == Expires::kKeep) {
        return Decision::kKeep;
      }
      return Change(std::nullopt, command().expires);
    case Verb::kEval:
      return ChangeByScript();
    case Verb::kIncrBy:
      return Increment();
    case Verb::kIncrByFloat:
      return IncrementFloat();
    case Verb::kSetRange:
      return SetRange();
    case Verb::kAppend:
      if (old_.size() + call_.arguments[2].size() > model::kRespStringBytesMax) {
        return Decline(kRespTooLong);
      }
      new_ = old_ + std::string(call_.arguments[2]);
      bytes_made_ = old_.size();
      number_ = static_cast<int64_t>(new_.size());
      return Store(new_);
    case Verb::kSet:
    case Verb::kSetEx:
    case Verb::kSetNx:
    case Verb::kGetSet:
    case Verb::kMSet:
    case Verb::kMSetNx:
      break;
    default:
      ROWSOCKET_REQUIRE(!"a command that changes a string has no change");
  }
  return Set();
}

Decision RespStringChange::Decline(std::string_view why) {
  wrong_ = why;
  return Decision::kKeep;
}

Decision RespStringChange::Set() {
  done_ = !(command().only_if_absent && is_there_) && !(command().only_if_there && !is_there_);
  if (!done_) return Decision::kKeep;
  const bool keeps = command().expires == Expires::kKeep;
  return Change(command().value, keeps && !is_there_ ? Expires::kNever : command().expires);
}

Decision RespStringChange::Store(std::string_view made) {
  keeps_flags_ = true;
  return Change(made, is_there_ ? Expires::kKeep : Expires::kNever);
}

// An empty text changes nothing.
Decision RespStringChange::SetRange() {
  const std::string_view text = call_.arguments[3];
  const auto from = static_cast<size_t>(command().from);
  number_ = static_cast<int64_t>(old_.size());
  if (text.empty()) return Decision::kKeep;
  new_ = old_;
  if (new_.size() < from + text.size()) new_.resize(from + text.size());
  new_.replace(from, text.size(), text);
  bytes_made_ = new_.size() - text.size();
  number_ = static_cast<int64_t>(new_.size());
  return Store(new_);
}

Decision RespStringChange::Increment() {
  int64_t now = 0;
  if (is_there_ && !ParsePlainInteger(old_, &now)) return Decline(kNoInteger);
  if (__builtin_add_overflow(now, command().by, &number_)) {
    return Decline("ERR increment or decrement would overflow");
  }
  new_ = std::to_string(number_);
  return Store(new_);
}

Decision RespStringChange::IncrementFloat() {
  long double now = 0;
  if (is_there_ && !ParseFloat(old_, &now)) return Decline(kNoFloat);
  now += command().by_float;
  if (!std::isfinite(now)) return Decline("ERR increment would produce NaN or Infinity");
  new_ = FormatFloat(now);
  return Store(new_);
}

Decision RespStringChange::Expire() {
  if (!is_there_) return Decision::kKeep;
  done_ = MayExpire(command(), row_.expires_ms(), at_ms_);
  if (!done_) return Decision::kKeep;
  return at_ms_ <= now_ms_ ? Decision::kDelete : Change(std::nullopt, Expires::kAt);
}

Decision RespStringChange::Change(std::optional<std::string_view> value, Expires expires) {
  const bool puts = (!value || PutValue(*value)) && PutExpiry(expires) && PutCas(value.has_value());
  return puts ? Decision::kStore : Decision::kKeep;
}

bool RespStringChange::PutValue(std::string_view value) {
  if (call_.container == nullptr) {
    Put(kValue, Value(value));
    return true;
  }
  const keyspace::Container& container = *call_.container;
  const Layout& layout = container.full_layout;
  // A value that is made from the old one must be kept exactly, because the reply has it, or the
  // client can work it out.
  const bool is_told = keeps_flags_;
  if (container.values == 1) {
    is_told ? PutTold(layout.value, Value(value)) : Put(layout.value, Value(value));
  } else {
    const std::span<Value> parts = arena_.Allocate<Value>(container.values);
    if (!keyspace::SplitColumns(value, container.separator, arena_, parts)) {
      wrong_ = "CONSTRAINT the value has not the columns of the container, joined by its separator";
      return false;
    }
    for (uint32_t i = 0; i < parts.size(); ++i) {
      is_told ? PutTold(layout.value + i, parts[i]) : Put(layout.value + i, parts[i]);
    }
  }
  // The flags tell memcached's clients how a value is packed; Redis's clients do not know them.
  const uint32_t flags = call_.move != nullptr ? call_.move->flags : 0;
  if (!is_there_ || (!keeps_flags_ && row_.flags() != flags))
    Put(layout.flags, keyspace::NumberToCell(flags, &flags_text_));
  return true;
}

bool RespStringChange::PutExpiry(Expires expires) {
  if (expires == Expires::kKeep) return true;
  const int64_t at_ms = expires == Expires::kNever ? keyspace::kNever : at_ms_;
  if (call_.container == nullptr) {
    const auto end =
        std::to_chars(expiry_text_.data(), expiry_text_.data() + expiry_text_.size(), at_ms).ptr;
    const auto size = static_cast<size_t>(end - expiry_text_.data());
    Put(kExpires,
        at_ms == keyspace::kNever ? Value() : Value(std::string_view(expiry_text_.data(), size)));
    return true;
  }
  const keyspace::Container& container = *call_.container;
  if (container.expiry == keyspace::ExpiryKind::kNone) {
    if (at_ms == keyspace::kNever) return true;
    wrong_ = "NOTSERVED keys of this container do not expire: it has no expire_time_column";
    return false;
  }
  if (is_there_ && at_ms == row_.expires_ms()) return true;
  Put(container.full_layout.expiry, keyspace::ExpiryToCell(at_ms, container, &expiry_text_));
  return true;
}

// A change of only the expiry keeps the cas, as memcached's touch does: a column that updates
// itself gets its old value.
bool RespStringChange::PutCas(bool changes_value) {
  if (call_.container == nullptr || call_.container->cas_kind == CasKind::kHash) return true;
  const keyspace::Container& container = *call_.container;
  if (!changes_value) {
    if (count_ != 0) Put(container.full_layout.cas, Value(), /*keeps=*/true);
    return true;
  }
  const keyspace::Keyspaces& keyspaces = *call_.keyspaces;
  const uint64_t largest = keyspaces.LargestCas(container);
  const uint64_t cas = keyspaces.NextCas(row_.cas(), largest);
  if (cas == 0 || cas > largest) {
    wrong_ = "CONSTRAINT the cas_column cannot hold the cas of this change";
    return false;
  }
  Put(container.full_layout.cas, keyspace::CasToCell(cas, container.cas_kind, &cas_text_));
  return true;
}

void RespStringChange::PutTold(uint32_t column, const Value& value) {
  Put(column, value);
  changes_[count_ - 1].fit = CellChange::Fit::kTold;
}

void RespStringChange::Put(uint32_t column, const Value& value, bool keeps) {
  if (column == Layout::kNone) return;
  changes_[count_++] = {column, value, keeps};
}

}  // namespace rowsocket::frontend
