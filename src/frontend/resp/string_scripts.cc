#include "frontend/resp/string_scripts.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/require.h"
#include "frontend/resp/expiry.h"
#include "frontend/resp/numbers.h"

namespace rowsocket::frontend {

using model::Decision;

namespace {

// Arguments that one script alone has, counted as RespScriptArguments counts them.
constexpr size_t kExtendAddsAt = 3;       ///< kExtend: 0 adds the time to the one that is left.
constexpr size_t kBytesComparedAt = 2;    ///< kAcquireWithPrefix.
constexpr size_t kUnitOfTimeAt = 3;       ///< kSetIfEquals: EX or PX; the time follows.
constexpr size_t kRenewableRenewsAt = 1;  ///< kCountInRenewableWindow.
constexpr size_t kMostAt = 2;             ///< kCountInGrowingWindow.
constexpr size_t kGrowingRenewsAt = 3;    ///< kCountInGrowingWindow.
constexpr size_t kGrowsAt = 4;            ///< kCountInGrowingWindow.

/// Reads the time of kSetIfEquals, which may have none.
std::string_view TakeTimeOfSwap(const RespCall& call, base::Arena& arena) {
  const auto& arguments = call.arguments;
  if (arguments.size() != kScriptKeyAt + kUnitOfTimeAt + 2) return {};
  const std::string_view unit = ScriptArgument(arguments, kUnitOfTimeAt);
  const bool is_seconds = IsWord(unit, "ex");
  if (!is_seconds && !IsWord(unit, "px")) return kSyntax;
  return SetExpiry(call, ScriptArgument(arguments, kUnitOfTimeAt + 1), is_seconds,
                   /*is_moment=*/false, arena);
}

}  // namespace

std::string_view PrepareStringScript(const RespCall& call, base::Arena& arena) {
  const RespScript script = call.script;
  const RespScriptArguments& at = TraitsOf(script).at;
  const auto argument = [&call](size_t i) { return ScriptArgument(call.arguments, i); };
  RespStringCommand& command = *call.string_command;
  command.by = 1;  // What a script adds that is not told how much.
  command.only_if_absent = TraitsOf(script).kind == RespScriptKind::kSetIfAbsent;
  if (at.token != 0) command.lock_token = argument(at.token);
  if (at.value != 0) command.value = argument(at.value);
  if (at.by != 0 && !ParsePlainInteger(argument(at.by), &command.by)) return kNoInteger;
  if (script == RespScript::kAcquireWithPrefix) {
    int64_t& bytes = command.lock_token_bytes_compared;
    if (!ParsePlainInteger(argument(kBytesComparedAt), &bytes) || bytes < 1) return kNoInteger;
  }
  command.adds_time = script == RespScript::kExtend && argument(kExtendAddsAt) == "0";
  if (script == RespScript::kSetIfEquals) return TakeTimeOfSwap(call, arena);
  if (at.time() == 0) return {};
  const bool is_seconds = at.time_s != 0;
  const std::string_view time = argument(at.time());
  const bool is_number = ParsePlainInteger(time, &command.window_ms);
  const bool may_be_endless = script == RespScript::kAddInWindowForMs && is_number;
  if (may_be_endless && command.window_ms <= 0) return {};
  const std::string_view wrong = SetExpiry(call, time, is_seconds, /*is_moment=*/false, arena);
  if (!wrong.empty()) return wrong;
  if (is_seconds) command.window_ms *= 1000;
  return {};
}

Decision RespStringChange::ChangeByScript() {
  using Kind = RespScriptKind;
  switch (TraitsOf(call_.script).kind) {
    case Kind::kSetIfAbsent:
      return Set();
    case Kind::kLock:
    case Kind::kAskLock:
    case Kind::kSwap:
      return ChangeLock();
    case Kind::kIncrement: {
      const bool is_kept = call_.script == RespScript::kIncrIfThere && !is_there_;
      return is_kept ? Decision::kKeep : Increment();
    }
    case Kind::kCountOne:
    case Kind::kAdd:
    case Kind::kSum:
      return CountInWindow();
    case Kind::kPeek:
      return PeekAtWindow();
    case Kind::kNone:
    case Kind::kCommand:
    case Kind::kField:
      break;
  }
  ROWSOCKET_REQUIRE(!"a script that changes a string has no change");
  return Decision::kKeep;
}

Decision RespStringChange::PeekAtWindow() {
  left_ms_ = TimeLeftMs();
  if (call_.script == RespScript::kReadWindow) return Decision::kKeep;
  const bool has_end = call_.script == RespScript::kPeekWindowOrZero;
  if (!is_there_ || (has_end && left_ms_ < 0)) left_ms_ = 0;
  if (is_there_ && !ParsePlainInteger(old_, &number_)) return Decline(kNoInteger);
  return Decision::kKeep;
}

// If the number has no expiry, rate-limit-redis begins anew, and kAddInWindow gives it one.
Decision RespStringChange::CountInWindow() {
  left_ms_ = TimeLeftMs();
  const bool grows = call_.script == RespScript::kCountInGrowingWindow;
  const bool begins =
      TraitsOf(call_.script).kind == RespScriptKind::kCountOne && !grows && left_ms_ <= 0;
  int64_t now = 0;
  if (is_there_ && !begins && !ParsePlainInteger(old_, &now)) return Decline(kNoInteger);
  if (__builtin_add_overflow(now, command().by, &number_)) {
    return Decline("ERR increment or decrement would overflow");
  }
  int64_t most = 0;
  if (grows && !ParsePlainInteger(ScriptArgument(call_.arguments, kMostAt), &most))
    return Decline(kNoInteger);
  new_ = std::to_string(number_);
  keeps_flags_ = !begins;
  if (grows && number_ != 1 && number_ > most) return GrowWindow(most);
  if (!begins && !BeginsWindow()) return Store(new_);
  left_ms_ = command().window_ms;
  return left_ms_ > 0 ? Change(new_, Expires::kAt) : Store(new_);
}

// The script computes the time as a double, which is exact up to 2^53 - 1 (kMsMax).
Decision RespStringChange::GrowWindow(int64_t most) {
  constexpr double kMsMax = 9007199254740991;
  const bool renews = ScriptArgument(call_.arguments, kGrowingRenewsAt) == "true";
  if (!renews && ScriptArgument(call_.arguments, kGrowsAt) != "true") return Store(new_);
  const uint64_t doublings = static_cast<uint64_t>(number_) - static_cast<uint64_t>(most) - 1;
  left_ms_ = command().window_ms;
  if (!renews) {
    const int exponent = static_cast<int>(std::min<uint64_t>(doublings, 64));
    const double grown = std::ldexp(static_cast<double>(left_ms_), exponent);
    left_ms_ = static_cast<int64_t>(std::min(grown, kMsMax));
    at_ms_ = now_ms_ + left_ms_;
  }
  return Change(new_, Expires::kAt);
}

bool RespStringChange::BeginsWindow() const {
  switch (call_.script) {
    case RespScript::kCountInRenewableWindow:
      return ScriptArgument(call_.arguments, kRenewableRenewsAt) == "1";
    case RespScript::kCountInGrowingWindow:
    case RespScript::kIncrAndExpire:
    case RespScript::kAddInWindowForMs:
      return number_ == command().by;
    case RespScript::kIncrAndExpireAtOne:
      return number_ == 1;
    default:
      return left_ms_ < 0;
  }
}

int64_t RespStringChange::TimeLeftMs() const {
  if (!is_there_) return -2;
  return expires() ? row_.expires_ms() - ExpiryClockMs(call_) : -1;
}

Decision RespStringChange::ChangeLock() {
  if (call_.script == RespScript::kAcquireWithPrefix) {
    const auto size = static_cast<size_t>(command().lock_token_bytes_compared);
    done_ = !is_there_ || old_.substr(0, size) == command().lock_token.substr(0, size);
    return done_ ? Change(command().value, Expires::kAt) : Decision::kKeep;
  }
  if (call_.script == RespScript::kExtendOrAcquire && !is_there_) {
    if (at_ms_ <= now_ms_) return Decline("ERR invalid expire time in 'set' command");
    done_ = true;
    return Change(command().lock_token, Expires::kAt);
  }
  // The library looks for this text, by which it tells that the key has expired.
  if (call_.script == RespScript::kCompareAndSetIfThere && !is_there_)
    return Decline("key does not exist");
  const bool is_zero = call_.script == RespScript::kCompareNumberAndSet && !is_there_;
  done_ = is_zero ? IsZero(command().lock_token) : is_there_ && old_ == command().lock_token;
  if (!done_) return Decision::kKeep;
  const RespScriptTraits& traits = TraitsOf(call_.script);
  if (traits.kind == RespScriptKind::kSwap) return Change(command().value, command().expires);
  if (traits.kind == RespScriptKind::kAskLock) {
    left_ms_ = TimeLeftMs();
    return Decision::kKeep;
  }
  if (traits.effect == RespEffect::kDelete) return Decision::kDelete;
  if (call_.script == RespScript::kExtend) {
    done_ = expires();
    if (!done_) return Decision::kKeep;
  }
  const bool overflows =
      command().adds_time && __builtin_add_overflow(at_ms_, row_.expires_ms() - now_ms_, &at_ms_);
  if (overflows) return Decline("ERR invalid expire time in script");
  return at_ms_ <= now_ms_ ? Decision::kDelete : Change(std::nullopt, Expires::kAt);
}

void AppendOfScript(resp::Version version, const RespCall& call, const RespStringChange& change,
                    base::Buffer& out) {
  using Kind = RespScriptKind;
  const RespScript script = call.script;
  switch (TraitsOf(script).kind) {
    case Kind::kSetIfAbsent:
      if (script == RespScript::kSetIfAbsentForMs) return resp::AppendInteger(change.done(), &out);
      return change.done() ? resp::AppendSimple("OK", &out) : resp::AppendNil(version, &out);
    case Kind::kLock:
    case Kind::kSwap:
      break;
    case Kind::kAskLock:
      return resp::AppendInteger(change.done() ? change.left_ms() : -3, &out);
    case Kind::kIncrement:
      if (script == RespScript::kIncrIfThere && !change.is_there())
        return resp::AppendNil(version, &out);
      return resp::AppendInteger(change.number(), &out);
    case Kind::kSum:
      return resp::AppendInteger(change.number(), &out);
    case Kind::kCountOne:
    case Kind::kAdd:
    case Kind::kPeek:
      resp::AppendArray(2, &out);
      if (script != RespScript::kReadWindow)
        resp::AppendInteger(change.number(), &out);
      else
        change.is_there() ? resp::AppendBulk(change.old(), &out) : resp::AppendNil(version, &out);
      return resp::AppendInteger(change.left_ms(), &out);
    case Kind::kNone:
    case Kind::kCommand:
    case Kind::kField:
      ROWSOCKET_REQUIRE(!"a script that changes a string has no reply");
      return resp::AppendNil(version, &out);
  }
  const bool has_prefix = script == RespScript::kAcquireWithPrefix;
  const bool is_ok = has_prefix || script == RespScript::kSetIfEquals;
  const bool is_nil = has_prefix || call.string_command->answers_nil;
  if (change.done() && is_ok) return resp::AppendSimple("OK", &out);
  if (!change.done() && is_nil) return resp::AppendNil(version, &out);
  const bool is_gone = script == RespScript::kReleaseIfThere && !change.is_there();
  resp::AppendInteger(is_gone ? -1 : change.done(), &out);
}

}  // namespace rowsocket::frontend
