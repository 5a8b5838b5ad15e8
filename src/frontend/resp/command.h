// The commands of Redis that this library knows: how many arguments each takes, which of them are
// keys, and what it does.
//
// Threads: constant data. Source of names and shapes: https://redis.io/docs/latest/commands/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/limits.h"

namespace rowsocket::frontend {

/// What a command does. The order matters: AsksEngine, IsStringVerb, IsGeneric, NamesManyKeys and
/// IsMoveVerb compare with the first or last verb of a part. A verb goes inside its part.
enum class RespVerb : uint8_t {
  // Of the connection and the server:
  kPing,
  kEcho,
  kQuit,
  kReset,
  kSelect,
  kHello,
  kAuth,
  kClient,
  kCommand,
  kInfo,
  kTime,
  kRole,
  kConfig,
  kCluster,
  kAcl,
  kScript,
  kFunction,
  kLatency,
  kSlowlog,
  kHotkeys,
  kPublish,
  kMulti,
  kExec,
  kDiscard,
  kUnwatch,
  kOnce,     ///< Gives a MULTI the token by which it takes effect once.
  kOutcome,  ///< What became of a token.
  kRefused,  ///< `refusal` says why.
  // Of a row:
  kHGet,
  kHMGet,
  kHGetAll,
  kHExists,
  kHLen,
  kHKeys,
  kHVals,
  kHScan,
  kHStrLen,
  kHRandField,
  kHSet,
  kHMSet,
  kHSetNx,
  kHDel,
  kHIncrBy,
  kHIncrByFloat,
  kDel,
  kExists,
  kType,
  kMemoryUsage,
  kObjectEncoding,
  kTtl,
  kExpireTime,
  kPersist,
  kWatch,
  kWatched,  ///< A part of EXEC: checks that the key is as WATCH has seen it.
  kRequire,
  // Of many keys:
  kScan,
  kKeys,
  kDbSize,
  kRandomKey,
  kInfoKeys,  ///< A part of INFO: counts the keys of each database.
  kFlush,
  // Of a string in the store; kDel, kExists, kType, kTtl, kExpireTime, kPersist and kExpire are for
  // both.
  kExpire,
  kGet,
  kSet,
  kSetEx,
  kSetNx,
  kGetSet,
  kGetDel,
  kGetEx,
  kAppend,
  kStrLen,
  kGetRange,
  kSetRange,
  kIncrBy,
  kIncrByFloat,
  kMGet,
  kMSet,
  kMSetNx,
  kEval,
  // RENAME and COPY: the string is read, put under the other key, and removed under the old one.
  kMoveTake,
  kMovePut,
  kMoveRemove,
};

/// Whether the command asks the engine.
constexpr bool AsksEngine(RespVerb verb) { return verb >= RespVerb::kHGet; }
constexpr bool IsStringVerb(RespVerb verb) { return verb >= RespVerb::kGet; }
/// Whether the command names fields of a row.
constexpr bool NamesFields(RespVerb verb) {
  switch (verb) {
    case RespVerb::kHGet:
    case RespVerb::kHMGet:
    case RespVerb::kHExists:
    case RespVerb::kHStrLen:
    case RespVerb::kHSet:
    case RespVerb::kHMSet:
    case RespVerb::kHSetNx:
    case RespVerb::kHDel:
    case RespVerb::kHIncrBy:
    case RespVerb::kHIncrByFloat:
      return true;
    default:
      return false;
  }
}
constexpr bool IsMoveVerb(RespVerb verb) { return verb >= RespVerb::kMoveTake; }
constexpr bool NamesManyKeys(RespVerb verb) {
  return verb >= RespVerb::kScan && verb <= RespVerb::kFlush;
}
/// Whether the command is for keys of any type, as those that Redis calls generic.
constexpr bool IsGeneric(RespVerb verb) {
  return verb == RespVerb::kExpire || (verb >= RespVerb::kDel && verb <= RespVerb::kWatched);
}

struct RespCommand {
  std::string_view name;  ///< In lower case.
  int arity = 0;          ///< With the name; negative: at least so many.
  RespVerb verb = RespVerb::kRefused;
  bool writes = false;
  int first_key = 0;
  int last_key = 0;  ///< -1: the last argument.
  std::string_view refusal = {};
};

/// Whether the command is on one key, its first argument, and makes one call of it whatever its
/// arguments are.
constexpr bool HasOneKey(const RespCommand& command) {
  return AsksEngine(command.verb) && !NamesManyKeys(command.verb) && !IsMoveVerb(command.verb) &&
         command.verb != RespVerb::kEval && command.first_key == 1 && command.last_key == 1;
}

inline constexpr std::string_view kRespWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kRespNoStore =
    "NOSTORE there is no table rowsocket.store: run rowsocket_store.sql";
inline constexpr std::string_view kRespTooLong =
    "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
inline constexpr std::string_view kRespLongPattern = "TOOLARGE a pattern has at most 1024 bytes";
static_assert(model::kRespPatternBytesMax == 1024, "kRespLongPattern names the limit");
inline constexpr std::string_view kRespNoCluster = "ERR This instance has cluster support disabled";
inline constexpr std::string_view kRespNoScripts =
    "NOTSERVED Lua is not run: a few scripts of locks and caches are served (docs/RESP.md), else "
    "use MULTI with ROW.REQUIRE or WATCH";

/// One more than there are commands.
inline constexpr uint32_t kRespCommandNumbers = 251 + 1;
std::span<const RespCommand> RespCommands();
/// The number of a command: its place in RespCommands(), from 1. It is the verb of the command's
/// items, by which latencies are counted (exec::Item::verb).
uint16_t NumberOf(const RespCommand& command);
/// The name of the command with this number; "other" for 0.
std::string_view RespCommandName(uint32_t number);
/// Null: there is no such command. `name`: in any case.
const RespCommand* FindRespCommand(std::string_view name);
bool TakesArguments(const RespCommand& command, size_t count);

/// Whether two words are the same but for their case.
bool IsWord(std::string_view text, std::string_view lower);
std::string Lower(std::string_view text);
/// Whether the text matches a pattern with `*`, `?`, `[abc]`, `[^a-c]` and `\\`, as Redis has them.
/// Takes time of the product of both lengths at most.
bool MatchesPattern(std::string_view pattern, std::string_view text);

}  // namespace rowsocket::frontend
