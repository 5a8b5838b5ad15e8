// The scripts that are served: those by which client libraries and frameworks release, extend and
// take locks, add to caches, and swap what a key holds. No Lua is run: a script is recognized by
// its text, and done as one change of one string, or of one field of a row. Every other script is
// refused.
//
// A text is recognized whatever its blanks, quotes and case: what is compared is the SHA-1 of the
// text without them (the table in scripts.cc says where each comes from). EVALSHA knows the SHA-1
// of exact texts that EVAL or SCRIPT LOAD have brought, the last kRespScriptsMax of them.
// Threads: any.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/arena.h"
#include "base/mutex.h"

namespace rowsocket::frontend {

/// What a script does with its one key; `token`, `value`: the first argument. The order matters:
/// IsOfField compares with the first script of the part of fields, which is the last part. A script
/// goes inside its part.
enum class RespScript : uint8_t {
  kNone,
  kRelease,         ///< Deletes the key where it holds the token.
  kReacquire,       ///< Expires in the second argument's milliseconds, where it holds the token.
  kRefresh,         ///< kReacquire with seconds.
  kExtend,          ///< kReacquire; adds to the time that is left where the third argument is 0.
  kAdd,             ///< Sets the value where there is none, for the second argument's seconds.
  kAddForMs,        ///< kAdd with milliseconds.
  kReleaseIfThere,  ///< kRelease, which answers -1 where there is no such key.
  kTake,            ///< kAddForMs, which answers 1 or 0.
  kHold,            ///< kReacquire, and kTake where there is none.
  kIncrIfThere,     ///< Adds to a number, where there is one.
  kIncr,
  kObtain,    ///< Sets a token for the third argument's milliseconds, where there is none, or one
              ///< that begins with as many bytes as the second argument says; `OK` or nil.
  kTimeLeft,  ///< Answers what PTTL does where the key holds the token, else -3.
  kSwap,      ///< Sets the value, with SET's EX or PX, where the key holds the second argument.
  kHit,       ///< Counts one more, from one on where nothing expires, for the first argument's
              ///< milliseconds; answers the number and the time that is left.
  kHits,      ///< Answers the number of kHit and the time that is left, and counts nothing.
  kConsume,   ///< kHit, which adds the first argument, for the second one's seconds.
  kIncrAndExpire,       ///< Adds the second argument; the first addition expires in the first one's
                        ///< seconds.
  kCompareAndSet,       ///< Sets the second argument where the key holds the first one; 1 or 0.
  kCompareAndSetForMs,  ///< kCompareAndSet, for the third argument's milliseconds.
  kCompareNumberAndSet,  ///< kCompareAndSet; what is not there counts as 0.
  // These do what the script without OrNil does, and answer nil in place of 0:
  kReleaseOrNil,
  kReacquireOrNil,
  kHoldOrNil,
  // What one command does (WordsOf):
  kSetNx,
  kGetDel,
  kGetSetForMs,  ///< Sets the value for the second argument's milliseconds; answers the old one.
  kPExpire,      ///< In the first argument's milliseconds, with the second one as EXPIRE's option.
  kPExpireAt,
  kPersist,
  // What HSET, HSETNX or HDEL does to the field that the first argument names:
  kFieldPut,  ///< Answers the old value, as the next three do.
  kFieldPutIfAbsent,
  kFieldRemove,
  kFieldReplace,        ///< kFieldPut where the field is there.
  kFieldFastReplace,    ///< kFieldReplace; answers 1 or 0, as the next two do.
  kFieldCompareAndSet,  ///< Sets the third argument where the field holds the second one.
  kFieldRemoveIfEqual,
};

/// How many arguments a script needs behind its key.
constexpr size_t ArgumentsMin(RespScript script) {
  switch (script) {
    case RespScript::kHits:
    case RespScript::kGetDel:
    case RespScript::kPersist:
      return 0;
    case RespScript::kSetNx:
    case RespScript::kFieldRemove:
    case RespScript::kRelease:
    case RespScript::kReleaseOrNil:
    case RespScript::kReleaseIfThere:
    case RespScript::kIncrIfThere:
    case RespScript::kIncr:
    case RespScript::kTimeLeft:
    case RespScript::kHit:
      return 1;
    case RespScript::kExtend:
    case RespScript::kObtain:
    case RespScript::kCompareAndSetForMs:
    case RespScript::kFieldCompareAndSet:
      return 3;
    default:
      return 2;
  }
}
/// The script that does the same, and answers 0 where this one answers nil.
constexpr RespScript WithoutNil(RespScript script) {
  switch (script) {
    case RespScript::kReleaseOrNil:
      return RespScript::kRelease;
    case RespScript::kReacquireOrNil:
      return RespScript::kReacquire;
    case RespScript::kHoldOrNil:
      return RespScript::kHold;
    default:
      return script;
  }
}
/// Whether the script is about a field of a row.
constexpr bool IsOfField(RespScript script) { return script >= RespScript::kFieldPut; }
/// Whether the script changes the field only where it holds the second argument.
constexpr bool ComparesField(RespScript script) {
  return script == RespScript::kFieldCompareAndSet || script == RespScript::kFieldRemoveIfEqual;
}
/// Whether the script sets a value where the string is a token.
constexpr bool Swaps(RespScript script) {
  return script == RespScript::kSwap || script == RespScript::kCompareAndSet ||
         script == RespScript::kCompareAndSetForMs || script == RespScript::kCompareNumberAndSet;
}
/// Whether the script counts in a number that expires.
constexpr bool Limits(RespScript script) {
  return script == RespScript::kHit || script == RespScript::kHits ||
         script == RespScript::kConsume || script == RespScript::kIncrAndExpire;
}
/// Whether the script changes no key that is not there, and deletes none.
constexpr bool OnlyUpdates(RespScript script) {
  return script == RespScript::kIncrIfThere || script == RespScript::kTimeLeft ||
         script == RespScript::kHits || script == RespScript::kFieldReplace ||
         script == RespScript::kFieldFastReplace || script == RespScript::kFieldCompareAndSet ||
         (Swaps(script) && script != RespScript::kCompareNumberAndSet);
}
/// Whether an expiry in the past is an error, as SET's is, and no DEL.
constexpr bool ExpiresLater(RespScript script) {
  return script == RespScript::kAdd || script == RespScript::kAddForMs ||
         script == RespScript::kTake || script == RespScript::kObtain || Swaps(script) ||
         Limits(script);
}
constexpr bool Adds(RespScript script) {
  return script == RespScript::kAdd || script == RespScript::kAddForMs ||
         script == RespScript::kTake;
}
constexpr bool Increments(RespScript script) {
  return script == RespScript::kIncrIfThere || script == RespScript::kIncr;
}

/// The command, with its arguments, that does a script's work on its key; empty: no command does.
/// `arguments`: of EVAL, as many as the script needs. The words live as long as these and the
/// arena.
std::span<const std::string_view> WordsOf(RespScript script,
                                          std::span<const std::string_view> arguments,
                                          base::Arena& arena);

class RespScripts {
 public:
  /// The script of a text, whose SHA-1 EVALSHA knows from then on; kNone: it is not served.
  RespScript Load(std::string_view text, std::string* sha1);
  /// kNone: no text with this SHA-1 has come. `sha1`: 40 hexadecimal digits in any case.
  RespScript Find(std::string_view sha1);

 private:
  base::Mutex mutex_;
  std::unordered_map<std::string, RespScript> known_ GUARDED_BY(mutex_);
  std::deque<std::string> order_ GUARDED_BY(mutex_);  ///< The keys of known_, oldest first.
};

/// The text as it is compared, and the SHA-1 of a text in lower case hexadecimal digits.
std::string NormalScript(std::string_view text);
std::string Sha1(std::string_view text);

}  // namespace rowsocket::frontend
