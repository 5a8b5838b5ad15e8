#include "frontend/resp/store.h"

#include <algorithm>
#include <string>

#include "base/require.h"
#include "frontend/resp/expiry.h"
#include "frontend/resp/move.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/rows.h"
#include "frontend/resp/string_change.h"
#include "frontend/resp/string_scripts.h"
#include "frontend/resp/watch.h"
#include "keyspace/config.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using model::CellChange;
using model::Decision;
using model::Value;
using Verb = RespVerb;

namespace {

/// Whether an increment is DECR or DECRBY.
bool Decrements(const RespCall& call) { return (call.arguments[0].front() | 0x20) == 'd'; }

}  // namespace

RespEffect EffectOf(const RespCall& call) {
  switch (call.verb) {
    case Verb::kDel:
    case Verb::kGetDel:
    case Verb::kMoveRemove:
      return RespEffect::kDelete;
    case Verb::kExpire:
      return RespEffect::kTouch;
    case Verb::kGetEx:
    case Verb::kPersist:
      return RespEffect::kUpdate;
    case Verb::kEval:
      return TraitsOf(call.script).effect;
    default:
      return RespEffect::kPut;
  }
}

namespace {

/// Takes the options of SET and GETEX after key and value. Of several times the last one counts.
std::string_view TakeOptions(const RespCall& call, size_t from, base::Arena& arena) {
  constexpr std::string_view kTimes[] = {"ex", "px", "exat", "pxat"};
  const auto& arguments = call.arguments;
  RespStringCommand& command = *call.string_command;
  const bool sets = call.verb == Verb::kSet;
  bool keeps = false;
  std::string_view kind, number;
  for (size_t i = from; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const auto* const time =
        std::find_if(std::begin(kTimes), std::end(kTimes),
                     [word](std::string_view name) { return IsWord(word, name); });
    if (time != std::end(kTimes)) {
      if (keeps || i + 1 == arguments.size() || (!kind.empty() && kind != *time)) return kSyntax;
      kind = *time;
      number = arguments[++i];
    } else if (IsWord(word, sets ? "keepttl" : "persist") && kind.empty()) {
      keeps = true;
      command.expires =
          sets ? RespStringCommand::Expires::kKeep : RespStringCommand::Expires::kNever;
    } else if (sets && IsWord(word, "nx") && !command.only_if_there) {
      command.only_if_absent = true;
    } else if (sets && IsWord(word, "xx") && !command.only_if_absent) {
      command.only_if_there = true;
    } else if (sets && IsWord(word, "get")) {
      command.gets = true;
    } else {
      return kSyntax;
    }
  }
  if (kind.empty()) return {};
  const std::string_view wrong =
      SetExpiry(call, number, kind.front() == 'e', kind.ends_with("at"), arena);
  if (sets || wrong.empty()) return wrong;
  command.wrong_if_there = wrong;  // GETEX of an absent key still answers nil.
  return {};
}

/// The columns that commands on a string change.
std::span<const uint32_t> StoredColumns(const RespCall& call, base::Arena& arena) {
  if (call.container == nullptr) {
    const std::span<uint32_t> columns = arena.Allocate<uint32_t>(2);
    columns[kValue] = kValue;
    columns[kExpires] = kExpires;
    return columns;
  }
  const keyspace::Layout& layout = call.container->full_layout;
  const std::span<uint32_t> columns =
      arena.Allocate<uint32_t>(call.container->values + keyspace::kItemColumnsBesidesValues);
  size_t count = 0;
  for (uint32_t i = 0; i < call.container->values; ++i) columns[count++] = layout.value + i;
  for (const uint32_t column : {layout.expiry, layout.flags, layout.cas}) {
    if (column != keyspace::Layout::kNone) columns[count++] = column;
  }
  return columns.first(count);
}

/// Notes in the edit what the command may do to its row, by which the rights of its account are
/// judged.
void SetStringEditRights(const RespCall& call, base::Arena& arena, model::Edit* edit) {
  const RespEffect effect = EffectOf(call);
  edit->may_delete = effect == RespEffect::kDelete || MayTouch(effect);
  edit->may_insert = effect == RespEffect::kPut || effect == RespEffect::kTouchOrPut;
  if (effect != RespEffect::kDelete) edit->may_update = StoredColumns(call, arena);
}

void AppendText(const RespWork& work, bool is_there, std::string_view text, base::Buffer& out) {
  if (is_there)
    resp::AppendBulk(text, &out);
  else
    resp::AppendNil(work.version, &out);
}

/// The bytes from one offset to another, both included; negative offsets count from the end.
std::string_view RangeOf(std::string_view text, const RespStringCommand& command) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t from = command.from, to = command.to;
  if (from < 0 && to < 0 && from > to) return {};
  if (from < 0) from = std::max<int64_t>(from + size, 0);
  if (to < 0) to = std::max<int64_t>(to + size, 0);
  to = std::min(to, size - 1);
  if (size == 0 || from > to) return {};
  return text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from + 1));
}

/// How Redis would keep the string.
std::string_view EncodingOf(std::string_view text) {
  constexpr size_t kEmbeddedMax = 44;
  int64_t number = 0;
  if (ParsePlainInteger(text, &number)) return "int";
  return text.size() <= kEmbeddedMax ? "embstr" : "raw";
}

void AppendRead(RespWork& work, const RespCall& call, const RespStringRow& row, base::Buffer& out) {
  switch (call.verb) {
    case Verb::kMGet:
      if (call.is_first) resp::AppendArray(call.arguments.size() - 1, &out);
      return AppendText(work, row.is_there(), row.value(), out);
    case Verb::kGet:
      return AppendText(work, row.is_there(), row.value(), out);
    case Verb::kGetRange:
      return resp::AppendBulk(RangeOf(row.is_there() ? row.value() : "", *call.string_command),
                              &out);
    case Verb::kStrLen:
      return resp::AppendInteger(row.is_there() ? static_cast<int64_t>(row.value().size()) : 0,
                                 &out);
    case Verb::kType:
      return resp::AppendSimple(row.is_there() ? "string" : "none", &out);
    case Verb::kExists:
      return AppendCounted(work, call, row.is_there(), out);
    case Verb::kMemoryUsage:
      if (!row.is_there()) return resp::AppendNil(work.version, &out);
      return resp::AppendInteger(
          static_cast<int64_t>(call.arguments[call.key_at].size() + row.value().size()), &out);
    case Verb::kObjectEncoding:
      if (!row.is_there()) return resp::AppendNil(work.version, &out);
      return resp::AppendBulk(EncodingOf(row.value()), &out);
    case Verb::kTtl:
    case Verb::kExpireTime:
      return resp::AppendInteger(row.is_there() ? ExpiryAnswer(call, row.expires_ms()) : -2, &out);
    default:
      ROWSOCKET_REQUIRE(!"a command that reads a string has no reply");
  }
}

void AppendChanged(RespWork& work, const RespCall& call, const RespStringChange& change,
                   base::Buffer& out) {
  switch (call.verb) {
    case Verb::kDel:
      return AppendCounted(work, call, change.done(), out);
    case Verb::kGetDel:
    case Verb::kGetEx:
    case Verb::kGetSet:
      return AppendText(work, change.is_there(), change.old(), out);
    case Verb::kIncrBy:
    case Verb::kAppend:
    case Verb::kSetRange:
      return resp::AppendInteger(change.number(), &out);
    case Verb::kIncrByFloat:
      return resp::AppendBulk(change.made(), &out);
    case Verb::kSetNx:
    case Verb::kExpire:
    case Verb::kPersist:
      return resp::AppendInteger(change.done(), &out);
    case Verb::kEval:
      return AppendOfScript(work.version, call, change, out);
    case Verb::kMSet:
      if (call.is_last) resp::AppendSimple("OK", &out);
      return;
    case Verb::kMSetNx:
      if (call.is_last) resp::AppendInteger(change.done(), &out);
      return;
    case Verb::kSet:
    case Verb::kSetEx:
      break;
    default:
      ROWSOCKET_REQUIRE(!"a command that changes a string has no reply");
  }
  if (call.string_command->gets) return AppendText(work, change.is_there(), change.old(), out);
  if (change.done())
    resp::AppendSimple("OK", &out);
  else
    resp::AppendNil(work.version, &out);
}

}  // namespace

void NameStore(const RespCall& call, engine::IndexNames* names) {
  names->db = keyspace::kRowsocketSchema;
  names->table = keyspace::kStoreTable;
  names->columns = {"v", "expires"};
  if (TraitsOf(call.verb).needs_expiry_alone()) names->columns = {"expires"};
}

RespKey StoreKey(std::string_view database, std::string_view key, base::Arena& arena) {
  RespKey stored;
  stored.db = keyspace::kRowsocketSchema;
  stored.table = keyspace::kStoreTable;
  stored.parts = arena.Allocate<Value>(2);
  stored.parts[0] = Value(database);
  stored.parts[1] = Value(key);
  return stored;
}

namespace {

std::string_view PrepareRead(RespCall& call, base::Arena& arena) {
  call.request.find.key = call.key.parts;
  call.request.find.key_parts_given = static_cast<uint32_t>(call.key.parts.size());
  if (call.verb != Verb::kGetRange) return {};
  RespStringCommand& command = StringCommandOf(call, arena);
  const bool is_right = ParsePlainInteger(call.arguments[2], &command.from) &&
                        ParsePlainInteger(call.arguments[3], &command.to);
  return is_right ? std::string_view() : kNoInteger;
}

std::string_view PrepareSetRange(const RespCall& call) {
  const std::string_view value = call.arguments[3];
  int64_t& from = call.string_command->from;
  if (!ParsePlainInteger(call.arguments[2], &from)) return kNoInteger;
  if (from < 0) return "ERR offset is out of range";
  const bool is_long = !value.empty() && from > static_cast<int64_t>(model::kRespStringBytesMax) -
                                                    static_cast<int64_t>(value.size());
  return is_long ? kRespTooLong : std::string_view();
}

std::string_view PrepareIncrBy(const RespCall& call) {
  int64_t& by = call.string_command->by;
  by = 1;
  if (call.arguments.size() == 3 && !ParsePlainInteger(call.arguments[2], &by)) return kNoInteger;
  const bool overflows = Decrements(call) && __builtin_sub_overflow(int64_t{0}, by, &by);
  return overflows ? "ERR decrement would overflow" : std::string_view();
}

/// Reads the words of a command that changes its string.
std::string_view PrepareChange(RespCall& call, base::Arena& arena) {
  const auto& arguments = call.arguments;
  RespStringCommand& command = StringCommandOf(call, arena);
  command.expires = RespStringCommand::Expires::kNever;
  switch (call.verb) {
    case Verb::kSet:
      command.value = arguments[2];
      return TakeOptions(call, 3, arena);
    case Verb::kSetEx:
      command.value = arguments[3];
      return SetExpiry(call, arguments[2], !IsInMilliseconds(call), /*is_moment=*/false, arena);
    case Verb::kSetNx:
      command.value = arguments[2];
      command.only_if_absent = true;
      return {};
    case Verb::kGetSet:
      command.value = arguments[2];
      return {};
    case Verb::kMSet:
      command.value = arguments[call.key_at + 1];
      return {};
    case Verb::kMSetNx:
      command.only_if_absent = !command.repeats_key;
      command.value = arguments[call.key_at + 1];
      return {};
    case Verb::kEval:
      return PrepareStringScript(call, arena);
    case Verb::kIncrByFloat:
      return ParseFloat(arguments[2], &command.by_float) ? std::string_view() : kNoFloat;
    case Verb::kSetRange:
      return PrepareSetRange(call);
    case Verb::kGetEx:
      command.expires = RespStringCommand::Expires::kKeep;
      return TakeOptions(call, 2, arena);
    case Verb::kExpire:
      return PrepareExpire(call, arena);
    case Verb::kIncrBy:
      return PrepareIncrBy(call);
    case Verb::kAppend:
    case Verb::kDel:
    case Verb::kGetDel:
    case Verb::kMovePut:
    case Verb::kMoveRemove:
    case Verb::kPersist:
      return {};
    default:
      ROWSOCKET_REQUIRE(!"a command that changes a string has no arguments");
      return {};
  }
}

}  // namespace

std::string_view PrepareString(RespCall& call, base::Arena& arena) {
  model::Request& request = call.request;
  request.relaxed = call.container != nullptr && call.container->relaxed;
  if (TraitsOf(call.verb).reads_string()) return PrepareRead(call, arena);
  request.verb = model::Request::Verb::kEdit;
  request.edit.key = call.key.parts;
  SetStringEditRights(call, arena, &request.edit);
  return PrepareChange(call, arena);
}

Outcome ExecuteString(RespWork& work, const RespCall& call, engine::Session& session,
                      base::Buffer& out) {
  if (call.move != nullptr) return ExecuteMove(work, call, session, out);
  if (TraitsOf(call.verb).reads_string()) {
    thread_local base::Buffer text;
    if (text.capacity() > model::kKeptValueBytesMax) text.Release();
    RespStringRow row(call, text);
    Outcome outcome;
    if (!call.key_cannot_exist) outcome = session.Execute(*call.index, call.request, row);
    if (!outcome.ok()) return outcome;
    work.bytes_read += row.value().size();
    CountLookup(work, call, row.is_there());
    if (row.is_there() && AsksFrequency(call)) return RefuseWith(work, kRespNoFrequency);
    AppendRead(work, call, row, out);
    return outcome;
  }
  RespStringChange change(call);
  Outcome outcome;
  if (call.key_cannot_exist) {
    std::span<const CellChange> changes;
    if (change.Decide({}, &changes) == Decision::kStore) {
      return RefuseWith(work, "CONSTRAINT the key's columns cannot hold this key as it is");
    }
  } else {
    model::Request request = call.request;
    request.edit.editor = &change;
    model::NoRows none;
    outcome = session.Execute(*call.index, request, none);
    if (!outcome.ok()) return outcome;
    work.bytes_read += change.bytes_read();
  }
  StopIfThere(call, change.is_there(), &outcome);
  if (!change.wrong().empty()) {
    return RefuseWith(work, change.wrong());
  }
  AppendChanged(work, call, change, out);
  return outcome;
}

}  // namespace rowsocket::frontend
