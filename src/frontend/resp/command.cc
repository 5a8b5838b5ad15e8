#include "frontend/resp/command.h"

#include <algorithm>

namespace rowsocket::frontend {

namespace {

using Verb = RespVerb;

constexpr std::string_view kStrings = "NOTSERVED MSETNX is not served: SETNX each key";
constexpr std::string_view kTypes = "NOTSERVED only rows as hashes, and strings, are served";
constexpr std::string_view kNoScripts =
    "NOTSERVED scripts are not served: use MULTI with ROW.REQUIRE";
constexpr std::string_view kScan = "NOTSERVED keys are not listed yet: use SELECT in SQL";
constexpr std::string_view kWatch =
    "NOTSERVED WATCH is not served yet: use ROW.REQUIRE key field op value inside MULTI";
constexpr std::string_view kSubscribe = "NOTSERVED messages are not served: nothing is published";
constexpr std::string_view kServer = "NOTSERVED this is a database server's: use SQL";

constexpr RespCommand kCommands[] = {
    {"append", 3, Verb::kAppend, true, 1, 1},
    {"auth", -2, Verb::kAuth},
    {"blpop", -3, Verb::kRefused, true, 1, -1, kTypes},
    {"brpop", -3, Verb::kRefused, true, 1, -1, kTypes},
    {"client", -2, Verb::kClient},
    {"cluster", -2, Verb::kCluster},
    {"command", -1, Verb::kCommand},
    {"config", -2, Verb::kConfig},
    {"dbsize", 1, Verb::kRefused, false, 0, 0, kScan},
    {"debug", -2, Verb::kRefused, false, 0, 0, kServer},
    {"decr", 2, Verb::kIncrBy, true, 1, 1},
    {"decrby", 3, Verb::kIncrBy, true, 1, 1},
    {"del", -2, Verb::kDel, true, 1, -1},
    {"discard", 1, Verb::kDiscard},
    {"echo", 2, Verb::kEcho},
    {"eval", -3, Verb::kRefused, true, 0, 0, kNoScripts},
    {"evalsha", -3, Verb::kRefused, true, 0, 0, kNoScripts},
    {"exec", 1, Verb::kExec},
    {"exists", -2, Verb::kExists, false, 1, -1},
    {"expire", -3, Verb::kExpire, true, 1, 1},
    {"expireat", -3, Verb::kExpire, true, 1, 1},
    {"expiretime", 2, Verb::kExpireTime, false, 1, 1},
    {"fcall", -3, Verb::kRefused, true, 0, 0, kNoScripts},
    {"flushall", -1, Verb::kRefused, true, 0, 0, kServer},
    {"flushdb", -1, Verb::kRefused, true, 0, 0, kServer},
    {"function", -2, Verb::kRefused, false, 0, 0, kNoScripts},
    {"get", 2, Verb::kGet, false, 1, 1},
    {"getdel", 2, Verb::kGetDel, true, 1, 1},
    {"getex", -2, Verb::kGetEx, true, 1, 1},
    {"getrange", 4, Verb::kGetRange, false, 1, 1},
    {"getset", 3, Verb::kGetSet, true, 1, 1},
    {"hdel", -3, Verb::kHDel, true, 1, 1},
    {"hello", -1, Verb::kHello},
    {"hexists", 3, Verb::kHExists, false, 1, 1},
    {"hget", 3, Verb::kHGet, false, 1, 1},
    {"hgetall", 2, Verb::kHGetAll, false, 1, 1},
    {"hincrby", 4, Verb::kHIncrBy, true, 1, 1},
    {"hkeys", 2, Verb::kHKeys, false, 1, 1},
    {"hlen", 2, Verb::kHLen, false, 1, 1},
    {"hmget", -3, Verb::kHMGet, false, 1, 1},
    {"hmset", -4, Verb::kHMSet, true, 1, 1},
    {"hscan", -3, Verb::kHScan, false, 1, 1},
    {"hset", -4, Verb::kHSet, true, 1, 1},
    {"hsetnx", 4, Verb::kHSetNx, true, 1, 1},
    {"hstrlen", 3, Verb::kHStrLen, false, 1, 1},
    {"hvals", 2, Verb::kHVals, false, 1, 1},
    {"incr", 2, Verb::kIncrBy, true, 1, 1},
    {"incrby", 3, Verb::kIncrBy, true, 1, 1},
    {"info", -1, Verb::kInfo},
    {"keys", 2, Verb::kRefused, false, 0, 0, kScan},
    {"llen", 2, Verb::kRefused, false, 1, 1, kTypes},
    {"lpop", -2, Verb::kRefused, true, 1, 1, kTypes},
    {"lpush", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"lrange", 4, Verb::kRefused, false, 1, 1, kTypes},
    {"mget", -2, Verb::kMGet, false, 1, -1},
    {"mset", -3, Verb::kMSet, true, 1, -1},
    {"msetnx", -3, Verb::kRefused, true, 1, -1, kStrings},
    {"multi", 1, Verb::kMulti},
    {"persist", 2, Verb::kPersist, false, 1, 1},
    {"pexpire", -3, Verb::kExpire, true, 1, 1},
    {"pexpireat", -3, Verb::kExpire, true, 1, 1},
    {"pexpiretime", 2, Verb::kExpireTime, false, 1, 1},
    {"ping", -1, Verb::kPing},
    {"psetex", 4, Verb::kSetEx, true, 1, 1},
    {"psubscribe", -2, Verb::kRefused, false, 0, 0, kSubscribe},
    {"pttl", 2, Verb::kTtl, false, 1, 1},
    {"publish", 3, Verb::kPublish},
    {"quit", -1, Verb::kQuit},
    {"reset", 1, Verb::kReset},
    {"role", 1, Verb::kRole},
    {"row.require", -5, Verb::kRequire, false, 1, 1},
    {"rpop", -2, Verb::kRefused, true, 1, 1, kTypes},
    {"rpush", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"sadd", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"scan", -2, Verb::kRefused, false, 0, 0, kScan},
    {"script", -2, Verb::kRefused, false, 0, 0, kNoScripts},
    {"select", 2, Verb::kSelect},
    {"set", -3, Verb::kSet, true, 1, 1},
    {"setex", 4, Verb::kSetEx, true, 1, 1},
    {"setnx", 3, Verb::kSetNx, true, 1, 1},
    {"setrange", 4, Verb::kSetRange, true, 1, 1},
    {"shutdown", -1, Verb::kRefused, false, 0, 0, kServer},
    {"smembers", 2, Verb::kRefused, false, 1, 1, kTypes},
    {"strlen", 2, Verb::kStrLen, false, 1, 1},
    {"subscribe", -2, Verb::kRefused, false, 0, 0, kSubscribe},
    {"substr", 4, Verb::kGetRange, false, 1, 1},
    {"time", 1, Verb::kTime},
    {"touch", -2, Verb::kExists, false, 1, -1},
    {"ttl", 2, Verb::kTtl, false, 1, 1},
    {"type", 2, Verb::kType, false, 1, 1},
    {"unlink", -2, Verb::kDel, true, 1, -1},
    {"unwatch", 1, Verb::kUnwatch},
    {"watch", -2, Verb::kRefused, false, 1, -1, kWatch},
    {"xadd", -5, Verb::kRefused, true, 1, 1, kTypes},
    {"zadd", -4, Verb::kRefused, true, 1, 1, kTypes},
};

static_assert(std::is_sorted(std::begin(kCommands), std::end(kCommands),
                             [](const RespCommand& a, const RespCommand& b) {
                               return a.name < b.name;
                             }));

constexpr size_t kNameBytesMax = 16;

char LowerByte(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}

}  // namespace

std::span<const RespCommand> RespCommands() { return kCommands; }

const RespCommand* FindRespCommand(std::string_view name) {
  if (name.size() > kNameBytesMax) return nullptr;
  char lower[kNameBytesMax];
  std::transform(name.begin(), name.end(), lower, LowerByte);
  const std::string_view wanted(lower, name.size());
  const auto* const found = std::lower_bound(
      std::begin(kCommands), std::end(kCommands), wanted,
      [](const RespCommand& command, std::string_view text) { return command.name < text; });
  return found != std::end(kCommands) && found->name == wanted ? found : nullptr;
}

bool TakesArguments(const RespCommand& command, size_t count) {
  return command.arity >= 0 ? count == static_cast<size_t>(command.arity)
                            : count >= static_cast<size_t>(-command.arity);
}

bool IsWord(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return LowerByte(a) == b; });
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerByte);
  return lower;
}

namespace {

/// Whether the first element of the pattern, which is no `*`, matches the byte; takes it off.
bool TakeElement(std::string_view* pattern, char byte) {
  const char first = pattern->front();
  pattern->remove_prefix(1);
  if (first == '?') return true;
  if (first == '\\' && !pattern->empty()) {
    const bool same = pattern->front() == byte;
    pattern->remove_prefix(1);
    return same;
  }
  if (first != '[') return first == byte;
  const bool negates = pattern->starts_with('^');
  if (negates) pattern->remove_prefix(1);
  bool found = false;
  while (!pattern->empty() && pattern->front() != ']') {
    if (pattern->front() == '\\' && pattern->size() > 1) pattern->remove_prefix(1);
    char from = pattern->front(), to = from;
    pattern->remove_prefix(1);
    if (pattern->size() > 1 && pattern->front() == '-' && (*pattern)[1] != ']') {
      to = (*pattern)[1];
      pattern->remove_prefix(2);
    }
    if (from > to) std::swap(from, to);
    found = found || (byte >= from && byte <= to);
  }
  if (!pattern->empty()) pattern->remove_prefix(1);
  return found != negates;
}

}  // namespace

// The last `*` alone takes back what it has matched: an earlier one can match no more than that.
bool MatchesPattern(std::string_view pattern, std::string_view text) {
  std::string_view behind_star, text_at_star;
  bool has_star = false;
  while (!text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      has_star = true;
      behind_star = pattern;
      text_at_star = text;
      continue;
    }
    std::string_view rest = pattern;
    if (!rest.empty() && TakeElement(&rest, text.front())) {
      pattern = rest;
      text.remove_prefix(1);
      continue;
    }
    if (!has_star) return false;
    text_at_star.remove_prefix(1);
    text = text_at_star;
    pattern = behind_star;
  }
  while (pattern.starts_with('*')) pattern.remove_prefix(1);
  return pattern.empty();
}

}  // namespace rowsocket::frontend
