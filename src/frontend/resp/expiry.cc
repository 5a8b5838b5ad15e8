#include "frontend/resp/expiry.h"

#include <algorithm>
#include <string>

#include "frontend/resp/numbers.h"
#include "frontend/resp/store.h"
#include "frontend/resp/string_row.h"
#include "keyspace/time.h"

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

std::string_view WrongExpiry(const RespCall& call, base::Arena& arena) {
  return arena.Copy("ERR invalid expire time in '" + Lower(call.arguments[0]) + "' command");
}

/// Whether a span that begins now, or a little later, ends after the last possible moment.
bool EndsTooLate(int64_t in_ms) {
  int64_t at_ms = 0;
  // Usual spans need no look at the clock.
  return in_ms > keyspace::kNever / 2 &&
         __builtin_add_overflow(in_ms, keyspace::WallClockMs(), &at_ms);
}

}  // namespace

bool IsInMilliseconds(const RespCall& call) { return (call.arguments[0].front() | 0x20) == 'p'; }

std::string_view SetExpiry(const RespCall& call, std::string_view number, bool is_seconds,
                           bool is_moment, base::Arena& arena) {
  int64_t value = 0;
  if (!ParsePlainInteger(number, &value)) return kNoInteger;
  const bool fits = (MayTouch(EffectOf(call)) || value > 0) &&
                    (!is_seconds || !__builtin_mul_overflow(value, 1000, &value));
  if (!fits || (!is_moment && EndsTooLate(value))) return WrongExpiry(call, arena);
  RespStringCommand& command = *call.string_command;
  command.expires = RespStringCommand::Expires::kAt;
  command.is_relative = !is_moment;
  if (is_moment)
    command.at_ms = std::min(value, keyspace::kNever - 1);
  else
    command.in_ms = value;
  return {};
}

int64_t ExpiryAnswer(const RespCall& call, int64_t expires_ms) {
  if (expires_ms == keyspace::kNever) return -1;
  const int64_t answer_ms =
      call.verb == Verb::kTtl ? std::max<int64_t>(expires_ms - ExpiryClockMs(call), 0) : expires_ms;
  return IsInMilliseconds(call) ? answer_ms : answer_ms / 1000 + (answer_ms % 1000 >= 500 ? 1 : 0);
}

namespace {

/// Takes the condition of EXPIRE and the like, which comes after the time.
std::string_view TakeCondition(const RespCall& call, base::Arena& arena) {
  RespStringCommand& command = *call.string_command;
  for (const std::string_view word : call.arguments.subspan(3)) {
    if (IsWord(word, "nx"))
      command.only_if_never = true;
    else if (IsWord(word, "xx"))
      command.only_if_expires = true;
    else if (IsWord(word, "gt"))
      command.only_if_later = true;
    else if (IsWord(word, "lt"))
      command.only_if_sooner = true;
    else
      return arena.Copy("ERR Unsupported option " + std::string(word.substr(0, 128)));
  }
  if (command.only_if_never &&
      (command.only_if_expires || command.only_if_later || command.only_if_sooner)) {
    return "ERR NX and XX, GT or LT options at the same time are not compatible";
  }
  if (command.only_if_later && command.only_if_sooner) {
    return "ERR GT and LT options at the same time are not compatible";
  }
  const std::string name = Lower(call.arguments[0]);
  return SetExpiry(call, call.arguments[2], !IsInMilliseconds(call), name.ends_with("at"), arena);
}

}  // namespace

std::string_view PrepareExpire(RespCall& call, base::Arena& arena) {
  StringCommandOf(call, arena);
  return TakeCondition(call, arena);
}

}  // namespace rowsocket::frontend
