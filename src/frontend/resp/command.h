// The commands of Redis that this library knows: how many arguments each takes, which of them are
// keys, and what it does.
//
// Threads: constant data.
// Source of names and shapes: https://redis.io/docs/latest/commands/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontend/resp/verb.h"
#include "model/limits.h"

namespace rowsocket::frontend {

/// Words of a command: unless a comment says otherwise, all of them, beginning with its name.
using RespArguments = std::span<const std::string_view>;

struct RespCommand {
  std::string_view name;  ///< In lower case.
  int arity = 0;          ///< Counts the name, too; negative: at least that many.
  RespVerb verb = RespVerb::kRefused;
  bool writes = false;
  int first_key = 0;
  int last_key = 0;  ///< -1: the last argument.
  std::string_view refusal = {};
};

/// Whether the command has one key, its first argument, and always becomes one call.
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
inline constexpr std::string_view kRespLongKeysPattern =
    "TOOLARGE the pattern of KEYS has at most 128 bytes: use SCAN";
static_assert(model::kRespKeysPatternBytesMax == 128, "kRespLongKeysPattern names the limit");
inline constexpr std::string_view kRespNoCluster = "ERR This instance has cluster support disabled";
inline constexpr std::string_view kRespNoScripts =
    "NOTSERVED Lua is not run, except a few scripts of locks and caches (docs/RESP.md): use MULTI "
    "with ROW.REQUIRE or WATCH";

/// How many numbers commands have: those of RespCommands(), and 0 for all others.
inline constexpr uint32_t kRespCommandNumbers = 251 + 1;
std::span<const RespCommand> RespCommands();
/// The number of a command: its position in RespCommands(), from 1. It is the verb of the command's
/// items, by which latencies are counted (exec::Item::verb).
uint16_t NumberOf(const RespCommand& command);
/// The name of the command with this number; "other" for 0.
std::string_view RespCommandName(uint32_t number);
/// Finds a command by its name, in upper or lower case. Null: there is no such command.
const RespCommand* FindRespCommand(std::string_view name);
bool TakesArguments(const RespCommand& command, size_t count);

/// Whether two words are equal apart from upper and lower case.
bool IsWord(std::string_view text, std::string_view lower);
std::string Lower(std::string_view text);
/// Whether the text matches a pattern with `*`, `?`, `[abc]`, `[^a-c]` and `\\`, as in Redis. Takes
/// no more time than the product of both lengths.
bool MatchesPattern(std::string_view pattern, std::string_view text);
/// Does the same, and adds the number of steps that it took to `*steps`: up to twice the product of
/// both lengths.
bool MatchesPattern(std::string_view pattern, std::string_view text, uint64_t* steps);

}  // namespace rowsocket::frontend
