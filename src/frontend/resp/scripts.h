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
/// The order matters: scripts about fields are the last part, and IsOfField compares with the first
/// of them. Add a script inside its part.
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

/// Which arguments of a script are what: 1 is the first one after its key, 0 is none.
struct RespScriptArguments {
  uint8_t token = 0;             ///< What the string or the field must hold.
  uint8_t value = 0;             ///< What is set.
  uint8_t by = 0;                ///< What is added.
  uint8_t time = 0;              ///< For how long the key lives from then on.
  bool time_in_seconds = false;  ///< Otherwise the time is in milliseconds.
};

struct RespScriptTraits {
  RespScript script;
  uint8_t arguments_min;  ///< How many arguments the script needs after its key.
  RespScriptArguments at = {};
};

/// The table of the scripts; TraitsOf finds a row. What one script alone has as an argument is in
/// string_scripts.cc, and the arguments of commands are in WordsOf.
inline constexpr auto kRespScripts = [] {
  using Script = RespScript;
  return std::to_array<RespScriptTraits>({
      {Script::kNone, 0},
      {Script::kRelease, 1, {.token = 1}},
      {Script::kExpireIfHeldInMs, 2, {.token = 1, .time = 2}},
      {Script::kExpireIfHeldInS, 2, {.token = 1, .time = 2, .time_in_seconds = true}},
      {Script::kExtend, 3, {.token = 1, .time = 2}},
      {Script::kSetIfAbsentOrNil, 2, {.value = 1, .time = 2, .time_in_seconds = true}},
      {Script::kSetIfAbsentOrNilForMs, 2, {.value = 1, .time = 2}},
      {Script::kReleaseIfThere, 1, {.token = 1}},
      {Script::kSetIfAbsentForMs, 2, {.value = 1, .time = 2}},
      {Script::kExtendOrAcquire, 2, {.token = 1, .time = 2}},
      {Script::kIncrIfThere, 1, {.by = 1}},
      {Script::kIncr, 1, {.by = 1}},
      {Script::kAcquireWithPrefix, 3, {.token = 1, .value = 1, .time = 3}},
      {Script::kTimeLeft, 1, {.token = 1}},
      {Script::kSetIfEquals, 2, {.token = 2, .value = 1}},
      {Script::kCountInWindow, 1, {.time = 1}},
      {Script::kCountInRenewableWindow, 2, {.time = 2}},
      {Script::kCountInGrowingWindow, 4, {.time = 1}},
      {Script::kReadWindow, 0},
      {Script::kAddInWindow, 2, {.by = 1, .time = 2, .time_in_seconds = true}},
      {Script::kAddInWindowForMs, 2, {.by = 1, .time = 2}},
      {Script::kPeekWindow, 0},
      {Script::kPeekWindowOrZero, 0},
      {Script::kIncrAndExpire, 2, {.by = 2, .time = 1, .time_in_seconds = true}},
      {Script::kIncrAndExpireAtOne, 2, {.by = 1, .time = 2}},
      {Script::kCompareAndSet, 2, {.token = 1, .value = 2}},
      {Script::kCompareAndSetForMs, 3, {.token = 1, .value = 2, .time = 3}},
      {Script::kCompareAndSetIfThere,
       3,
       {.token = 1, .value = 2, .time = 3, .time_in_seconds = true}},
      {Script::kCompareNumberAndSet, 2, {.token = 1, .value = 2}},
      {Script::kReleaseOrNil, 1, {.token = 1}},
      {Script::kExpireIfHeldInMsOrNil, 2, {.token = 1, .time = 2}},
      {Script::kExtendOrAcquireOrNil, 2, {.token = 1, .time = 2}},
      {Script::kSetNx, 1},
      {Script::kGetDel, 0},
      {Script::kGetSetForMs, 2},
      {Script::kPExpire, 2},
      {Script::kPExpireAt, 2},
      {Script::kPersist, 0},
      {Script::kFieldPut, 2},
      {Script::kFieldPutIfAbsent, 2},
      {Script::kFieldRemove, 1},
      {Script::kFieldReplace, 2},
      {Script::kFieldFastReplace, 2},
      {Script::kFieldCompareAndSet, 3, {.token = 2}},
      {Script::kFieldRemoveIfEqual, 2, {.token = 2}},
  });
}();

constexpr const RespScriptTraits& TraitsOf(RespScript script) {
  return kRespScripts[static_cast<size_t>(script)];
}
static_assert(kRespScripts.size() == static_cast<size_t>(RespScript::kFieldRemoveIfEqual) + 1);
static_assert(std::all_of(kRespScripts.begin(), kRespScripts.end(),
                          [](const RespScriptTraits& row) {
                            const auto& [token, value, by, time, in_seconds] = row.at;
                            return &TraitsOf(row.script) == &row &&
                                   std::max({token, value, by, time}) <= row.arguments_min;
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
/// Whether the script is about a field of a row.
constexpr bool IsOfField(RespScript script) { return script >= RespScript::kFieldPut; }
/// Whether the script changes the field only if it holds the second argument.
constexpr bool ComparesField(RespScript script) {
  return script == RespScript::kFieldCompareAndSet || script == RespScript::kFieldRemoveIfEqual;
}
/// Whether the script sets a value if the string is the lock token.
constexpr bool Swaps(RespScript script) {
  return script == RespScript::kSetIfEquals || script == RespScript::kCompareAndSet ||
         script == RespScript::kCompareAndSetForMs || script == RespScript::kCompareAndSetIfThere ||
         script == RespScript::kCompareNumberAndSet;
}
/// Whether the script answers the number that counts in a window, and changes nothing.
constexpr bool PeeksAtWindow(RespScript script) {
  return script == RespScript::kPeekWindow || script == RespScript::kPeekWindowOrZero;
}
/// Whether the script changes nothing.
constexpr bool OnlyReads(RespScript script) {
  return script == RespScript::kTimeLeft || script == RespScript::kReadWindow ||
         PeeksAtWindow(script);
}
/// Whether the script adds 1 to a number that expires, and answers the time that is left, too.
constexpr bool CountsOneInWindow(RespScript script) {
  return script == RespScript::kCountInWindow || script == RespScript::kCountInRenewableWindow ||
         script == RespScript::kCountInGrowingWindow;
}
/// Whether the script counts in a number that expires.
constexpr bool CountsInWindow(RespScript script) {
  return CountsOneInWindow(script) || PeeksAtWindow(script) || script == RespScript::kReadWindow ||
         script == RespScript::kAddInWindow || script == RespScript::kAddInWindowForMs ||
         script == RespScript::kIncrAndExpire || script == RespScript::kIncrAndExpireAtOne;
}
/// Whether the script neither makes nor deletes a key.
constexpr bool OnlyUpdates(RespScript script) {
  return script == RespScript::kIncrIfThere || OnlyReads(script) ||
         script == RespScript::kFieldReplace || script == RespScript::kFieldFastReplace ||
         script == RespScript::kFieldCompareAndSet ||
         (Swaps(script) && script != RespScript::kCompareNumberAndSet);
}
/// Whether an expiry in the past is an error, as in SET, instead of a deletion.
constexpr bool ExpiresLater(RespScript script) {
  return script == RespScript::kSetIfAbsentOrNil || script == RespScript::kSetIfAbsentOrNilForMs ||
         script == RespScript::kSetIfAbsentForMs || script == RespScript::kAcquireWithPrefix ||
         Swaps(script) || CountsInWindow(script);
}
/// Whether the script sets its value only if the key is absent.
constexpr bool SetsIfAbsent(RespScript script) {
  return script == RespScript::kSetIfAbsentOrNil || script == RespScript::kSetIfAbsentOrNilForMs ||
         script == RespScript::kSetIfAbsentForMs;
}
/// Whether the script adds to a number whose expiry stays as it is.
constexpr bool Increments(RespScript script) {
  return script == RespScript::kIncrIfThere || script == RespScript::kIncr;
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
