#include "frontend/resp/command.h"

#include <algorithm>

namespace rowsocket::frontend {

namespace {

using Verb = RespVerb;

constexpr std::string_view kTypes = "NOTSERVED only rows as hashes, and strings, are served";
constexpr std::string_view kSubscribe =
    "NOTSERVED there is nothing to subscribe to: no message is passed on";
constexpr std::string_view kKeysOnly = "NOTSERVED keys are neither moved nor dumped: use SQL";
constexpr std::string_view kTakesFields =
    "NOTSERVED a field is not read and deleted by one command: use MULTI with HGET and HDEL";
constexpr std::string_view kFieldsExpire =
    "NOTSERVED a field is a column and does not expire alone: EXPIRE the key, or use HDEL";
constexpr std::string_view kServer =
    "NOTSERVED here this is the work of the database server: use SQL";
constexpr std::string_view kMonitor =
    "NOTSERVED requests are not passed on to a watcher: use HOTKEYS, SLOWLOG or rowsocket-top";

constexpr RespCommand kCommands[] = {
    {"acl", -2, Verb::kAcl},
    {"append", 3, Verb::kAppend, true, 1, 1},
    {"asking", 1, Verb::kRefused, false, 0, 0, kRespNoCluster},
    {"auth", -2, Verb::kAuth},
    {"bgrewriteaof", -1, Verb::kRefused, false, 0, 0, kServer},
    {"bgsave", -1, Verb::kRefused, false, 0, 0, kServer},
    {"bitcount", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bitfield", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bitfield_ro", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bitop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bitpos", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"blmove", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"blmpop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"blpop", -3, Verb::kRefused, true, 1, -1, kTypes},
    {"brpop", -3, Verb::kRefused, true, 1, -1, kTypes},
    {"brpoplpush", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bzmpop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bzpopmax", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"bzpopmin", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"client", -2, Verb::kClient},
    {"cluster", -2, Verb::kCluster},
    {"command", -1, Verb::kCommand},
    {"config", -2, Verb::kConfig},
    {"copy", -3, Verb::kMoveTake, true, 1, 2},
    {"dbsize", 1, Verb::kDbSize},
    {"debug", -2, Verb::kRefused, false, 0, 0, kServer},
    {"decr", 2, Verb::kIncrBy, true, 1, 1},
    {"decrby", 3, Verb::kIncrBy, true, 1, 1},
    {"del", -2, Verb::kDel, true, 1, -1},
    {"discard", 1, Verb::kDiscard},
    {"dump", -1, Verb::kRefused, false, 0, 0, kKeysOnly},
    {"echo", 2, Verb::kEcho},
    {"eval", -3, Verb::kEval, true, 3, 3},
    {"eval_ro", -3, Verb::kRefused, false, 0, 0, kRespNoScripts},
    {"evalsha", -3, Verb::kEval, true, 3, 3},
    {"evalsha_ro", -3, Verb::kRefused, false, 0, 0, kRespNoScripts},
    {"exec", 1, Verb::kExec},
    {"exists", -2, Verb::kExists, false, 1, -1},
    {"expire", -3, Verb::kExpire, true, 1, 1},
    {"expireat", -3, Verb::kExpire, true, 1, 1},
    {"expiretime", 2, Verb::kExpireTime, false, 1, 1},
    {"failover", -1, Verb::kRefused, false, 0, 0, kServer},
    {"fcall", -3, Verb::kRefused, true, 0, 0, kRespNoScripts},
    {"fcall_ro", -3, Verb::kRefused, false, 0, 0, kRespNoScripts},
    {"flushall", -1, Verb::kFlushAll, true},
    {"flushdb", -1, Verb::kFlushDb, true},
    {"function", -2, Verb::kFunction},
    {"geoadd", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"geodist", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"geohash", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"geopos", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"georadius", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"georadiusbymember", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"geosearch", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"geosearchstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"get", 2, Verb::kGet, false, 1, 1},
    {"getbit", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"getdel", 2, Verb::kGetDel, true, 1, 1},
    {"getex", -2, Verb::kGetEx, true, 1, 1},
    {"getrange", 4, Verb::kGetRange, false, 1, 1},
    {"getset", 3, Verb::kGetSet, true, 1, 1},
    {"hdel", -3, Verb::kHDel, true, 1, 1},
    {"hello", -1, Verb::kHello},
    {"hexists", 3, Verb::kHExists, false, 1, 1},
    {"hexpire", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hexpireat", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hexpiretime", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hget", 3, Verb::kHGet, false, 1, 1},
    {"hgetall", 2, Verb::kHGetAll, false, 1, 1},
    {"hgetdel", -5, Verb::kRefused, true, 1, 1, kTakesFields},
    {"hgetex", -5, Verb::kRefused, true, 1, 1, kFieldsExpire},
    {"hincrby", 4, Verb::kHIncrBy, true, 1, 1},
    {"hincrbyfloat", 4, Verb::kHIncrByFloat, true, 1, 1},
    {"hkeys", 2, Verb::kHKeys, false, 1, 1},
    {"hlen", 2, Verb::kHLen, false, 1, 1},
    {"hmget", -3, Verb::kHMGet, false, 1, 1},
    {"hmset", -4, Verb::kHMSet, true, 1, 1},
    {"hotkeys", -2, Verb::kHotkeys},
    {"hpersist", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hpexpire", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hpexpireat", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hpexpiretime", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hpttl", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hrandfield", -2, Verb::kHRandField, false, 1, 1},
    {"hscan", -3, Verb::kHScan, false, 1, 1},
    {"hset", -4, Verb::kHSet, true, 1, 1},
    {"hsetex", -6, Verb::kRefused, true, 1, 1, kFieldsExpire},
    {"hsetnx", 4, Verb::kHSetNx, true, 1, 1},
    {"hstrlen", 3, Verb::kHStrLen, false, 1, 1},
    {"httl", -1, Verb::kRefused, false, 0, 0, kFieldsExpire},
    {"hvals", 2, Verb::kHVals, false, 1, 1},
    {"incr", 2, Verb::kIncrBy, true, 1, 1},
    {"incrby", 3, Verb::kIncrBy, true, 1, 1},
    {"incrbyfloat", 3, Verb::kIncrByFloat, true, 1, 1},
    {"info", -1, Verb::kInfo},
    {"keys", 2, Verb::kKeys},
    {"lastsave", 1, Verb::kLastSave},
    {"latency", -2, Verb::kLatency},
    {"lcs", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lindex", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"linsert", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"llen", 2, Verb::kRefused, false, 1, 1, kTypes},
    {"lmove", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lmpop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lolwut", -1, Verb::kRefused, false, 0, 0, kServer},
    {"lpop", -2, Verb::kRefused, true, 1, 1, kTypes},
    {"lpos", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lpush", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"lpushx", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lrange", 4, Verb::kRefused, false, 1, 1, kTypes},
    {"lrem", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"lset", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"ltrim", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"memory", -2, Verb::kMemoryUsage, false, 2, 2},
    {"mget", -2, Verb::kMGet, false, 1, -1},
    {"migrate", -1, Verb::kRefused, false, 0, 0, kKeysOnly},
    {"module", -2, Verb::kModule},
    {"monitor", -1, Verb::kRefused, false, 0, 0, kMonitor},
    {"move", -1, Verb::kRefused, false, 0, 0, kKeysOnly},
    {"mset", -3, Verb::kMSet, true, 1, -1},
    {"msetnx", -3, Verb::kMSetNx, true, 1, -1},
    {"multi", 1, Verb::kMulti},
    {"object", -2, Verb::kObjectEncoding, false, 2, 2},
    {"persist", 2, Verb::kPersist, true, 1, 1},
    {"pexpire", -3, Verb::kExpire, true, 1, 1},
    {"pexpireat", -3, Verb::kExpire, true, 1, 1},
    {"pexpiretime", 2, Verb::kExpireTime, false, 1, 1},
    {"pfadd", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"pfcount", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"pfmerge", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"ping", -1, Verb::kPing},
    {"psetex", 4, Verb::kSetEx, true, 1, 1},
    {"psubscribe", -2, Verb::kRefused, false, 0, 0, kSubscribe},
    {"psync", -1, Verb::kRefused, false, 0, 0, kServer},
    {"pttl", 2, Verb::kTtl, false, 1, 1},
    {"publish", 3, Verb::kPublish},
    {"pubsub", -2, Verb::kPubSub},
    {"punsubscribe", -1, Verb::kUnsubscribe},
    {"quit", -1, Verb::kQuit},
    {"randomkey", 1, Verb::kRandomKey},
    {"readonly", 1, Verb::kRefused, false, 0, 0, kRespNoCluster},
    {"readwrite", 1, Verb::kRefused, false, 0, 0, kRespNoCluster},
    {"rename", 3, Verb::kMoveTake, true, 1, 2},
    {"renamenx", 3, Verb::kMoveTake, true, 1, 2},
    {"replicaof", -1, Verb::kRefused, false, 0, 0, kServer},
    {"reset", 1, Verb::kReset},
    {"restore", -1, Verb::kRefused, false, 0, 0, kKeysOnly},
    {"role", 1, Verb::kRole},
    {"row.once", 2, Verb::kRowOnce},
    {"row.outcome", -2, Verb::kRowOutcome},
    {"row.require", -5, Verb::kRowRequire, false, 1, 1},
    {"rpop", -2, Verb::kRefused, true, 1, 1, kTypes},
    {"rpoplpush", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"rpush", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"rpushx", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sadd", -3, Verb::kRefused, true, 1, 1, kTypes},
    {"save", -1, Verb::kRefused, false, 0, 0, kServer},
    {"scan", -2, Verb::kScan},
    {"scard", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"script", -2, Verb::kScript},
    {"sdiff", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sdiffstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"select", 2, Verb::kSelect},
    {"set", -3, Verb::kSet, true, 1, 1},
    {"setbit", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"setex", 4, Verb::kSetEx, true, 1, 1},
    {"setnx", 3, Verb::kSetNx, true, 1, 1},
    {"setrange", 4, Verb::kSetRange, true, 1, 1},
    {"shutdown", -1, Verb::kRefused, false, 0, 0, kServer},
    {"sinter", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sintercard", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sinterstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sismember", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"slaveof", -1, Verb::kRefused, false, 0, 0, kServer},
    {"slowlog", -2, Verb::kSlowlog},
    {"smembers", 2, Verb::kRefused, false, 1, 1, kTypes},
    {"smismember", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"smove", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sort", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sort_ro", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"spop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"spublish", -1, Verb::kRefused, false, 0, 0, kSubscribe},
    {"srandmember", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"srem", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sscan", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"ssubscribe", -1, Verb::kRefused, false, 0, 0, kSubscribe},
    {"strlen", 2, Verb::kStrLen, false, 1, 1},
    {"subscribe", -2, Verb::kRefused, false, 0, 0, kSubscribe},
    {"substr", 4, Verb::kGetRange, false, 1, 1},
    {"sunion", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sunionstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"sunsubscribe", -1, Verb::kUnsubscribe},
    {"swapdb", -1, Verb::kRefused, false, 0, 0, kServer},
    {"sync", -1, Verb::kRefused, false, 0, 0, kServer},
    {"time", 1, Verb::kTime},
    {"touch", -2, Verb::kExists, false, 1, -1},
    {"ttl", 2, Verb::kTtl, false, 1, 1},
    {"type", 2, Verb::kType, false, 1, 1},
    {"unlink", -2, Verb::kDel, true, 1, -1},
    {"unsubscribe", -1, Verb::kUnsubscribe},
    {"unwatch", 1, Verb::kUnwatch},
    {"wait", 3, Verb::kWait},
    {"waitaof", -1, Verb::kRefused, false, 0, 0, kServer},
    {"watch", -2, Verb::kWatch, false, 1, -1},
    {"xack", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xadd", -5, Verb::kRefused, true, 1, 1, kTypes},
    {"xautoclaim", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xclaim", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xdel", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xgroup", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xinfo", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xlen", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xpending", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xrange", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xread", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xreadgroup", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xrevrange", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xsetid", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"xtrim", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zadd", -4, Verb::kRefused, true, 1, 1, kTypes},
    {"zcard", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zcount", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zdiff", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zdiffstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zincrby", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zinter", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zintercard", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zinterstore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zlexcount", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zmpop", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zmscore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zpopmax", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zpopmin", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrandmember", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrange", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrangebylex", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrangebyscore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrangestore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrank", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrem", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zremrangebylex", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zremrangebyrank", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zremrangebyscore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrevrange", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrevrangebylex", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrevrangebyscore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zrevrank", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zscan", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zscore", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zunion", -1, Verb::kRefused, false, 0, 0, kTypes},
    {"zunionstore", -1, Verb::kRefused, false, 0, 0, kTypes},
};

static_assert(std::is_sorted(std::begin(kCommands), std::end(kCommands),
                             [](const RespCommand& a, const RespCommand& b) {
                               return a.name < b.name;
                             }));

static_assert(std::size(kCommands) + 1 == kRespCommandNumbers);

constexpr size_t kCommandNameBytesMax = 24;

char LowerByte(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}

}  // namespace

std::span<const RespCommand> RespCommands() { return kCommands; }

std::string_view RespCommandName(uint32_t number) {
  return number == 0 ? "other" : kCommands[number - 1].name;
}

uint16_t NumberOf(const RespCommand& command) {
  return static_cast<uint16_t>(&command - std::data(kCommands)) + 1;
}

const RespCommand* FindRespCommand(std::string_view name) {
  if (name.size() > kCommandNameBytesMax) return nullptr;
  char lower[kCommandNameBytesMax];
  std::transform(name.begin(), name.end(), lower, LowerByte);
  const std::string_view wanted(lower, name.size());
  const auto* const found = std::lower_bound(
      std::begin(kCommands), std::end(kCommands), wanted,
      [](const RespCommand& command, std::string_view text) { return command.name < text; });
  return found != std::end(kCommands) && found->name == wanted ? found : nullptr;
}

bool TakesArguments(const RespCommand& command, size_t count) {
  if (command.verb == Verb::kPing && count > 2) return false;
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

/// Takes the first element, which is no `*`, off the pattern. Returns whether it matches the byte.
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
    const bool is_escaped = pattern->front() == '\\' && pattern->size() > 1;
    if (is_escaped) pattern->remove_prefix(1);
    char from = pattern->front(), to = from;
    pattern->remove_prefix(1);
    // As in Redis: an escaped byte begins no range, and `]` may end one.
    if (!is_escaped && pattern->size() > 1 && pattern->front() == '-') {
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

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  uint64_t steps = 0;
  return MatchesPattern(pattern, text, &steps);
}

// On a mismatch only the last `*` has to match more: if that does not help, an earlier one cannot,
// either.
bool MatchesPattern(std::string_view pattern, std::string_view text, uint64_t* steps) {
  std::string_view after_star, text_at_star;
  bool has_star = false;
  while (!text.empty()) {
    ++*steps;
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      has_star = true;
      after_star = pattern;
      text_at_star = text;
      continue;
    }
    std::string_view rest = pattern;
    const bool matches = !rest.empty() && TakeElement(&rest, text.front());
    *steps += pattern.size() - rest.size();
    if (matches) {
      pattern = rest;
      text.remove_prefix(1);
      continue;
    }
    if (!has_star) return false;
    text_at_star.remove_prefix(1);
    text = text_at_star;
    pattern = after_star;
  }
  while (pattern.starts_with('*')) pattern.remove_prefix(1);
  return pattern.empty();
}

}  // namespace rowsocket::frontend
