// The scripts that are served: those by which client libraries and frameworks hold locks, limit
// rates, add to caches, and compare and set a key or a field of a row. No Lua is run: a script is
// recognized by its text, and done as one change of one string, or of one field of a row. Every
// other script is refused.
//
// A text is recognized whatever its blanks, quotes and case, because the SHA-1 of the text without
// them is compared (the table in scripts.cc says where each script comes from). EVALSHA knows the
// SHA-1 of exact texts: of the last kRespScriptsMax that EVAL or SCRIPT LOAD have brought.
// Threads: any.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/arena.h"
#include "base/mutex.h"
#include "frontend/resp/command.h"

namespace rowsocket::frontend {

/// The position of the key among the arguments of EVAL.
inline constexpr size_t kScriptKeyAt = 3;

/// What a script does with its one key. Its first argument is called the lock token, or the value.
/// Each script has a row in kRespScripts, at the same position.
enum class RespScript : uint8_t {
  kNone,
  /// Deletes the key if it holds the lock token; answers 1 or 0.
  kRelease,
  /// Lets the key expire in the second argument's milliseconds if it holds the lock token;
  /// answers 1 or 0.
  kExpireIfHeldInMs,
  /// Lets the key expire in the second argument's seconds if it holds the lock token; answers 1
  /// or 0.
  kExpireIfHeldInS,
  /// Lets the key expire in the second argument's milliseconds, added to the time that is left
  /// if the third argument is 0, and if it holds the lock token and expires; answers 1 or 0.
  kExtend,
  /// Sets the value for the second argument's seconds if the key is absent; answers `OK` or nil.
  kSetIfAbsentOrNil,
  /// Sets the value for the second argument's milliseconds if the key is absent; answers `OK` or
  /// nil.
  kSetIfAbsentOrNilForMs,
  /// Deletes the key if it holds the lock token; answers 1, 0, or -1 if the key is absent.
  kReleaseIfThere,
  /// Sets the value for the second argument's milliseconds if the key is absent; answers 1 or 0.
  kSetIfAbsentForMs,
  /// Sets the lock token if the key is absent; if the key is absent or holds the lock token,
  /// lets it expire in the second argument's milliseconds; answers 1 or 0.
  kExtendOrAcquire,
  /// Adds the first argument to the number that the key holds; answers the sum, or nil if the
  /// key is absent.
  kIncrIfThere,
  /// Adds the first argument to the number that the key holds, 0 if it is absent; answers the
  /// sum.
  kIncr,
  /// Sets the lock token for the third argument's milliseconds if the key is absent, or if
  /// what it holds begins with the lock token's first bytes, as many as the second argument says;
  /// answers `OK` or nil.
  kAcquireWithPrefix,
  /// Answers as PTTL if the key holds the lock token, otherwise -3.
  kTimeLeft,
  /// Sets the value if the key holds the second argument, for the time of SET's EX or PX if
  /// these follow; answers `OK` or 0.
  kSetIfEquals,
  /// Adds 1 to a number that expires; if the key is absent or never expires, sets 1 for the
  /// first argument's milliseconds. Answers the number and the milliseconds that are left.
  kCountInWindow,
  /// Adds 1 to a number that expires; if the key is absent or never expires, sets 1 for the
  /// second argument's milliseconds, which begin anew with each count if the first argument is 1.
  /// Answers the number and the milliseconds that are left.
  kCountInRenewableWindow,
  /// Adds 1 to a number. The arguments: window in ms, most, renews, grows. The window begins with
  /// the sum 1. With each sum above `most` it begins anew: if `renews` is `true`, as long as
  /// before; otherwise, if `grows` is `true`, of the window's length for the first such sum, and
  /// twice as long for each further one, at most 2^53 - 1 ms. Answers the sum, and the
  /// milliseconds of the window that begins, or those that are left.
  kCountInGrowingWindow,
  /// Answers what the key holds, or nil, and the milliseconds that are left; changes nothing.
  kReadWindow,
  /// Adds the first argument to a number, which expires in the second argument's seconds if it
  /// was absent or never expired. Answers the sum and the milliseconds that are left.
  kAddInWindow,
  /// Adds the first argument to a number, which expires in the second argument's milliseconds, if
  /// these are more than 0 and the sum is what was added. Answers the sum, and the milliseconds
  /// of the window that begins, or those that are left.
  kAddInWindowForMs,
  /// Answers the number that the key holds and the milliseconds that are left, 0 and 0 if the
  /// key is absent; changes nothing.
  kPeekWindow,
  /// Answers the number that the key holds and the milliseconds that are left, 0 and 0 if the
  /// key is absent, 0 milliseconds if it never expires; changes nothing.
  kPeekWindowOrZero,
  /// Adds the second argument to a number, which expires in the first argument's seconds if the
  /// sum is what was added; answers the sum.
  kIncrAndExpire,
  /// Adds the first argument to a number, which expires in the second argument's milliseconds if
  /// the sum is 1; answers the sum.
  kIncrAndExpireAtOne,
  /// Sets the second argument if the key holds the first one; answers 1 or 0.
  kCompareAndSet,
  /// Sets the second argument for the third one's milliseconds if the key holds the first one;
  /// answers 1 or 0.
  kCompareAndSetForMs,
  /// Sets the second argument for the third one's seconds if the key holds the first one;
  /// answers 1 or 0, or an error if the key is absent.
  kCompareAndSetIfThere,
  /// Sets the second argument if the key holds the first one, or is absent and the first one is
  /// the number 0; answers 1 or 0.
  kCompareNumberAndSet,
  // Scripts that answer nil when another script would answer 0 (WithoutNil):
  /// Deletes the key if it holds the lock token; answers 1 or nil.
  kReleaseOrNil,
  /// Lets the key expire in the second argument's milliseconds if it holds the lock token;
  /// answers 1 or nil.
  kExpireIfHeldInMsOrNil,
  /// Sets the lock token if the key is absent; if the key is absent or holds the lock token,
  /// lets it expire in the second argument's milliseconds; answers 1 or nil.
  kExtendOrAcquireOrNil,
  // Scripts that do what one command does (WordsOf), and answer as that command does:
  kSetNx,
  kGetDel,
  kGetSetForMs,  ///< Sets the value for the second argument's milliseconds; answers the old one.
  kPExpire,      ///< In the first argument's milliseconds, with the second one as EXPIRE's option.
  kPExpireAt,    ///< At the first argument's moment, with the second one as EXPIRE's option.
  kPersist,
  // Scripts that do what HSET, HSETNX or HDEL does to the field that the first argument names:
  kFieldPut,          ///< Sets the second argument; answers the old value, or nil.
  kFieldPutIfAbsent,  ///< Sets the second argument if the field is absent; answers the old
                      ///< value, or nil.
  kFieldRemove,       ///< Deletes the field; answers the old value, or nil.
  kFieldReplace,      ///< Sets the second argument if the field is there; answers the old value,
                      ///< or nil.
  kFieldFastReplace,  ///< Sets the second argument if the field is there; answers 1 or 0.
  /// Sets the third argument if the field holds the second one; answers 1 or 0.
  kFieldCompareAndSet,
  /// Deletes the field if it holds the second argument; answers 1 or 0.
  kFieldRemoveIfEqual,
};

/// What a script works with, by which its change and its reply are chosen.
enum class RespScriptKind : uint8_t {
  kNone,
  kSetIfAbsent,  ///< Sets its value if the key is absent.
  /// If the key holds the lock token, deletes it or changes when it expires; or sets the lock
  /// token.
  kLock,
  kAskLock,    ///< Answers for how long the key lives, if it holds the lock token.
  kSwap,       ///< Sets its value if the key holds the lock token.
  kIncrement,  ///< Adds to a number whose expiry stays as it is; answers the sum.
  kCountOne,   ///< Adds 1 to a number that expires; answers the sum and the time that is left.
  /// Adds its argument to a number that expires; answers the sum and the time that is left.
  kAdd,
  kSum,      ///< Adds its argument to a number that expires; answers the sum.
  kPeek,     ///< Answers what the key holds and the time that is left.
  kCommand,  ///< Does what one command does (WordsOf).
  kField,    ///< Changes a field of a row.
};

/// What a command or a script that changes its key may do to the key's row.
enum class RespEffect : uint8_t {
  kUpdate,      ///< Updates the row, or leaves it as it is.
  kPut,         ///< Makes or updates it.
  kDelete,      ///< Deletes it.
  kTouch,       ///< Changes when it expires, or deletes it if that time has passed already.
  kTouchOrPut,  ///< As kTouch; makes the row if there is none.
};

/// Whether a time in the past deletes the key; otherwise it is an error.
constexpr bool MayTouch(RespEffect effect) {
  return effect == RespEffect::kTouch || effect == RespEffect::kTouchOrPut;
}

/// Which arguments of a script are what: 1 is the first one after its key, 0 is none.
struct RespScriptArguments {
  uint8_t token = 0;    ///< What the string or the field must hold.
  uint8_t value = 0;    ///< What is set.
  uint8_t by = 0;       ///< What is added.
  uint8_t time_ms = 0;  ///< For how long the key lives from then on, in milliseconds.
  uint8_t time_s = 0;   ///< For how long the key lives from then on, in seconds.

  constexpr uint8_t time() const { return time_s != 0 ? time_s : time_ms; }
};

struct RespScriptTraits {
  RespScript script;
  RespScriptKind kind;
  RespEffect effect;
  uint8_t arguments_min;  ///< How many arguments the script needs after its key.
  RespScriptArguments at = {};
};

/// The table of the scripts; TraitsOf finds a row. What one script alone has as an argument is in
/// string_scripts.cc, and the arguments of commands are in WordsOf.
inline constexpr auto kRespScripts = [] {
  using enum RespScript;
  using Kind = RespScriptKind;
  using Effect = RespEffect;
  return std::to_array<RespScriptTraits>({
      {kNone, Kind::kNone, Effect::kPut, 0},
      {kRelease, Kind::kLock, Effect::kDelete, 1, {.token = 1}},
      {kExpireIfHeldInMs, Kind::kLock, Effect::kTouch, 2, {.token = 1, .time_ms = 2}},
      {kExpireIfHeldInS, Kind::kLock, Effect::kTouch, 2, {.token = 1, .time_s = 2}},
      {kExtend, Kind::kLock, Effect::kTouch, 3, {.token = 1, .time_ms = 2}},
      {kSetIfAbsentOrNil, Kind::kSetIfAbsent, Effect::kPut, 2, {.value = 1, .time_s = 2}},
      {kSetIfAbsentOrNilForMs, Kind::kSetIfAbsent, Effect::kPut, 2, {.value = 1, .time_ms = 2}},
      {kReleaseIfThere, Kind::kLock, Effect::kDelete, 1, {.token = 1}},
      {kSetIfAbsentForMs, Kind::kSetIfAbsent, Effect::kPut, 2, {.value = 1, .time_ms = 2}},
      {kExtendOrAcquire, Kind::kLock, Effect::kTouchOrPut, 2, {.token = 1, .time_ms = 2}},
      {kIncrIfThere, Kind::kIncrement, Effect::kUpdate, 1, {.by = 1}},
      {kIncr, Kind::kIncrement, Effect::kPut, 1, {.by = 1}},
      {kAcquireWithPrefix, Kind::kLock, Effect::kPut, 3, {.token = 1, .value = 1, .time_ms = 3}},
      {kTimeLeft, Kind::kAskLock, Effect::kUpdate, 1, {.token = 1}},
      {kSetIfEquals, Kind::kSwap, Effect::kUpdate, 2, {.token = 2, .value = 1}},
      {kCountInWindow, Kind::kCountOne, Effect::kPut, 1, {.time_ms = 1}},
      {kCountInRenewableWindow, Kind::kCountOne, Effect::kPut, 2, {.time_ms = 2}},
      {kCountInGrowingWindow, Kind::kCountOne, Effect::kPut, 4, {.time_ms = 1}},
      {kReadWindow, Kind::kPeek, Effect::kUpdate, 0},
      {kAddInWindow, Kind::kAdd, Effect::kPut, 2, {.by = 1, .time_s = 2}},
      {kAddInWindowForMs, Kind::kAdd, Effect::kPut, 2, {.by = 1, .time_ms = 2}},
      {kPeekWindow, Kind::kPeek, Effect::kUpdate, 0},
      {kPeekWindowOrZero, Kind::kPeek, Effect::kUpdate, 0},
      {kIncrAndExpire, Kind::kSum, Effect::kPut, 2, {.by = 2, .time_s = 1}},
      {kIncrAndExpireAtOne, Kind::kSum, Effect::kPut, 2, {.by = 1, .time_ms = 2}},
      {kCompareAndSet, Kind::kSwap, Effect::kUpdate, 2, {.token = 1, .value = 2}},
      {kCompareAndSetForMs,
       Kind::kSwap,
       Effect::kUpdate,
       3,
       {.token = 1, .value = 2, .time_ms = 3}},
      {kCompareAndSetIfThere,
       Kind::kSwap,
       Effect::kUpdate,
       3,
       {.token = 1, .value = 2, .time_s = 3}},
      {kCompareNumberAndSet, Kind::kSwap, Effect::kPut, 2, {.token = 1, .value = 2}},
      {kReleaseOrNil, Kind::kLock, Effect::kDelete, 1, {.token = 1}},
      {kExpireIfHeldInMsOrNil, Kind::kLock, Effect::kTouch, 2, {.token = 1, .time_ms = 2}},
      {kExtendOrAcquireOrNil, Kind::kLock, Effect::kTouchOrPut, 2, {.token = 1, .time_ms = 2}},
      {kSetNx, Kind::kCommand, Effect::kPut, 1},
      {kGetDel, Kind::kCommand, Effect::kDelete, 0},
      {kGetSetForMs, Kind::kCommand, Effect::kPut, 2},
      {kPExpire, Kind::kCommand, Effect::kTouch, 2},
      {kPExpireAt, Kind::kCommand, Effect::kTouch, 2},
      {kPersist, Kind::kCommand, Effect::kUpdate, 0},
      {kFieldPut, Kind::kField, Effect::kPut, 2},
      {kFieldPutIfAbsent, Kind::kField, Effect::kPut, 2},
      {kFieldRemove, Kind::kField, Effect::kUpdate, 1},
      {kFieldReplace, Kind::kField, Effect::kUpdate, 2},
      {kFieldFastReplace, Kind::kField, Effect::kUpdate, 2},
      {kFieldCompareAndSet, Kind::kField, Effect::kUpdate, 3, {.token = 2}},
      {kFieldRemoveIfEqual, Kind::kField, Effect::kUpdate, 2, {.token = 2}},
  });
}();

constexpr const RespScriptTraits& TraitsOf(RespScript script) {
  return kRespScripts[static_cast<size_t>(script)];
}
static_assert(kRespScripts.size() == static_cast<size_t>(RespScript::kFieldRemoveIfEqual) + 1);
static_assert(std::all_of(kRespScripts.begin(), kRespScripts.end(),
                          [](const RespScriptTraits& row) {
                            const auto& [token, value, by, time_ms, time_s] = row.at;
                            return &TraitsOf(row.script) == &row &&
                                   std::max({token, value, by, time_ms, time_s}) <=
                                       row.arguments_min;
                          }));

/// An argument of a script, counted as RespScriptArguments counts them. `arguments`: EVAL's.
constexpr std::string_view ScriptArgument(RespArguments arguments, size_t at) {
  return arguments[kScriptKeyAt + at];
}

/// The script that does the same, but answers 0 instead of nil.
constexpr RespScript WithoutNil(RespScript script) {
  switch (script) {
    case RespScript::kReleaseOrNil:
      return RespScript::kRelease;
    case RespScript::kExpireIfHeldInMsOrNil:
      return RespScript::kExpireIfHeldInMs;
    case RespScript::kExtendOrAcquireOrNil:
      return RespScript::kExtendOrAcquire;
    default:
      return script;
  }
}
/// Whether the script changes the field only if it holds what the script expects.
constexpr bool ComparesField(RespScript script) {
  const RespScriptTraits& traits = TraitsOf(script);
  return traits.kind == RespScriptKind::kField && traits.at.token != 0;
}

/// The command, with its arguments, that does a script's work on its key; empty: no command does.
/// `arguments`: EVAL's, as many as the script needs. The words live as long as the arguments and
/// the arena.
RespArguments WordsOf(RespScript script, RespArguments arguments, base::Arena& arena);

class RespScripts {
 public:
  /// Finds the script of a text, and lets EVALSHA know the text's SHA-1 from then on; kNone: it is
  /// not served.
  RespScript Load(std::string_view text, std::string* sha1);
  /// Finds a script by its SHA-1, 40 hexadecimal digits in upper or lower case. kNone: no text with
  /// this SHA-1 has come.
  RespScript Find(std::string_view sha1);

 private:
  base::Mutex mutex_;
  std::unordered_map<std::string, RespScript> known_ GUARDED_BY(mutex_);
  std::deque<std::string> order_ GUARDED_BY(mutex_);  ///< The keys of known_, oldest first.
};

/// The text of a script as it is compared with known ones.
std::string NormalScript(std::string_view text);
/// The SHA-1 of a text, in lower case hexadecimal digits.
std::string Sha1(std::string_view text);

}  // namespace rowsocket::frontend
