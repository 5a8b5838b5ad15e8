#include "frontend/resp/scripts.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "frontend/resp/command.h"
#include "model/limits.h"

namespace rowsocket::frontend {

namespace {

struct KnownScript {
  /// The SHA-1 of the script's text as NormalScript writes it. For a script in a vector of
  /// spec/vectors/resp that is not here, tests/test_script_numbers.py prints it.
  std::string_view sha1;
  RespScript script;
  std::string_view source;
};

constexpr KnownScript kScripts[] = {
    {"7207705fe594df3ae9284ac1bb02cb839e6bb6d6", RespScript::kRelease,
     "redis-py and valkey-py, Lock.release; django-redis"},
    {"42aa864ead766f44f1e67e93e0c4eed3577f0c2b", RespScript::kRelease, "node redlock 4: unlock"},
    {"5f851f2ef1cdcac21aa82b064c9ac022a9a7adb0", RespScript::kReleaseIfThere,
     "redsync 4.18: deleteScript"},
    {"d4cf41ffeee07808a251a898f54ec19dc1f681b7", RespScript::kSetIfAbsentForMs,
     "node redlock 4: lock"},
    {"d3feb5c5e592717be1b4d23a1e457d8bf7b484af", RespScript::kExpireIfHeldInMs,
     "node redlock 4: extend"},
    {"1f9a1f028f75d4d6ce17714651295ce404fad2d5", RespScript::kExtendOrAcquire,
     "redsync 4.18: touchWithSetNXScript"},
    {"ad58b2d0bdf3e779af72e942985c9c7b05dc5cde", RespScript::kIncrIfThere,
     "django-redis 7: incr and decr"},
    {"8810de9fdabcc11840a301f1caf48013c86a51d7", RespScript::kIncr,
     "django-redis 7: incr and decr with ignore_key_check"},
    {"c0c707c4bec016dafd187acc09028350cd8b3f6d", RespScript::kRelease,
     "Laravel LuaScripts::releaseLock; Redis's page on locks; redsync"},
    {"7e5b8b1c8492617cc2e01b1f67de23df28f74ccb", RespScript::kExpireIfHeldInMs,
     "redis-py and valkey-py, Lock.reacquire"},
    {"d4477b9f7579af482457f0c2f363525cff4ea1d4", RespScript::kExpireIfHeldInMs,
     "node redlock, redsync: extend"},
    {"9d071e3e2e37313935eefcd4507f6faa9172728e", RespScript::kExpireIfHeldInS,
     "Laravel LuaScripts::refreshLock"},
    {"f450802dd75d333e0f6e746befbe093331bc1869", RespScript::kExtend,
     "redis-py and valkey-py, Lock.extend"},
    {"b8dfde8c861025bd12fb6398edfed6323c49d945", RespScript::kSetIfAbsentOrNil,
     "Laravel LuaScripts::add"},
    {"a6e77505036c4602581d513d5c792ed5de468f68", RespScript::kSetIfAbsentOrNilForMs,
     "godruoyi's snowflake for PHP, of several frameworks"},
    {"e16f7c44afa75fbb95a41921267d0e13df09bad5", RespScript::kAcquireWithPrefix,
     "bsm/redislock: luaObtain"},
    {"0346cd486b0a21da6d24adcd2e2905865b5df13d", RespScript::kTimeLeft, "bsm/redislock: luaPTTL"},
    {"66994095fd9939d4aa13122796c45ae85cb7b4ee", RespScript::kSetIfEquals, "aiocache: CAS_SCRIPT"},
    {"628530cce93e824e98529d185787f13e23a6c25e", RespScript::kCountInWindow,
     "rate-limit-redis 6: increment"},
    {"00ad6ed876728704c25f19ee0886414958ba44bb", RespScript::kCountInRenewableWindow,
     "rate-limit-redis 4.3, 5: increment"},
    {"09c136830362a2d2a424f934f894d18400c43784", RespScript::kReadWindow,
     "rate-limit-redis 4.3, 5, 6: get"},
    {"f84b25644e8775bc064040595a79dde70a5d6dc7", RespScript::kCountInGrowingWindow,
     "@fastify/rate-limit 10.3, 11: lua"},
    {"fdc0b381a06c24e25f434da4ffe0bc2f2880cb11", RespScript::kPeekWindowOrZero,
     "@fastify/rate-limit 11.2: luaRead"},
    {"731e931c4db90e496436746a313d6ef8090c2358", RespScript::kAddInWindow,
     "rate-limiter-flexible: incrTtlLuaScript"},
    {"ad9d3af8f2c6470a7fdd6833660c6c3c4f8cbc01", RespScript::kIncrAndExpire,
     "limits for Python: incr_expire"},
    {"db7afcbf71efd065090cd6a466999025ea943f44", RespScript::kAddInWindowForMs,
     "ulule/limiter 3.11: luaIncrScript"},
    {"b2d9a5971766ba7647f3924e5301d9cead2f42e0", RespScript::kPeekWindow,
     "ulule/limiter 3.11: luaPeekScript"},
    {"285661bf9dc150307971c875b9d1de15fc47ee19", RespScript::kCompareAndSetIfThere,
     "throttled 2: redisCASScript"},
    {"11b521081e82e78e4e866b3ee7a11fe32d1930d9", RespScript::kIncrAndExpireAtOne,
     "cashews 7: _INCR_EXPIRE"},
    {"9c3a455e708879fedd31f9be93c7f57a228dd6b6", RespScript::kRelease,
     "redis-semaphore: delIfEqualLua of a mutex"},
    {"91e12f6ebb7ea534f5ad5273c84a2181b727f30a", RespScript::kExpireIfHeldInMs,
     "redis-semaphore: expireIfEqualLua of a mutex"},
    {"055e6d1ac8b1138d21217da3b3a3e3d6e3eaa05f", RespScript::kSetIfAbsentForMs,
     "bucket4j 8: SCRIPT_SET_NX_PX"},
    {"509c7a5af2e7b2d2011941bb9fbc8faa2f84eeef", RespScript::kSetNx, "bucket4j 8: SCRIPT_SET_NX"},
    {"63ebac9d56ac5d38853cd4feeb437b9c90958da1", RespScript::kCompareAndSetForMs,
     "bucket4j 8: SCRIPT_COMPARE_AND_SWAP_PX"},
    {"44a083c5e5266b04b90a6bb6b9b82b2c68c80eb3", RespScript::kCompareAndSet,
     "bucket4j 8: SCRIPT_COMPARE_AND_SWAP; Redisson: RBucket.compareAndSet"},
    {"c9d38f9a98551c2143023d2533f0f1d031ed006f", RespScript::kExtendOrAcquireOrNil,
     "Spring Integration, RedisLockRegistry: obtain"},
    {"5f194d0f0fe0cffeffeffe4f82addee2324a1e7d", RespScript::kExpireIfHeldInMsOrNil,
     "Spring Integration, RedisLockRegistry: renew"},
    {"8e34c43c50cba00f3e1a21a0fe90d2c219de9666", RespScript::kReleaseOrNil,
     "Spring Integration, RedisLockRegistry: unlock by UNLINK"},
    {"93bdeaac8bc94975431ca0a422440dd68e4c4423", RespScript::kReleaseOrNil,
     "Spring Integration, RedisLockRegistry: unlock by DEL"},
    {"1b7bbeed855bad517a37bc1b67b2f261a3a22aa1", RespScript::kRelease,
     "Redisson: RBucket.compareAndSet to null"},
    {"de3e9a8bbec5ce071cd0410d1f3be426ecb25da4", RespScript::kRelease,
     "Redisson 4: RBucket.compareAndDelete"},
    {"2f4b5c95a25814639ac798825b4d1b973c2325a2", RespScript::kGetDel, "Redisson: getAndDelete"},
    {"ad26f32667934c4e445b01889d793e23d8e95b98", RespScript::kGetDel,
     "Redisson: RBucket.getAndSet to null"},
    {"41a7a6be0636f4a9a02356fe9c916e3bcd3a2af3", RespScript::kGetSetForMs,
     "Redisson: RBucket.getAndSet with a time"},
    {"273506cf85148db846a9529d4c14d45d2b348d6d", RespScript::kCompareNumberAndSet,
     "Redisson: RAtomicLong.compareAndSet"},
    {"5e6bdbb197cd814b58f94dfe0ca68ee1e597f10d", RespScript::kPExpire,
     "Redisson: RExpirable.expire"},
    {"8f3d06f7c7e6f304ed45f9e941ad93f508552d2e", RespScript::kPExpireAt,
     "Redisson: RExpirable.expireAt"},
    {"57101fdb54e36b4d2a1c3c18bb60c5fc2f026d21", RespScript::kPersist,
     "Redisson: RExpirable.clearExpire"},
    {"89a1f7a62d00e2d3853b4b6f6e2f104e822c0843", RespScript::kFieldPut, "Redisson: RMap.put"},
    {"48505ce625efd4d37ec8ae636aef1d8d7bf3442a", RespScript::kFieldPutIfAbsent,
     "Redisson: RMap.putIfAbsent"},
    {"a86fa335aedac4df9dc19756ffcd7036cd440b38", RespScript::kFieldRemove, "Redisson: RMap.remove"},
    {"fd9d80c2cc62f6a6ac5328f4e31f98339e8b3448", RespScript::kFieldReplace,
     "Redisson: RMap.replace"},
    {"f560c16d43a2bbdf0e41837e528f268f7236e7a1", RespScript::kFieldReplace,
     "Redisson: RMap.putIfExists"},
    {"0aa51efe7df9abb0ba2d311374f0686ea616d2d0", RespScript::kFieldFastReplace,
     "Redisson: RMap.fastReplace"},
    {"fcaa13fcb76c14389dd33866d02e650c80f628e0", RespScript::kFieldFastReplace,
     "Redisson: RMap.fastPutIfExists"},
    {"3d66845441fe5b1505f67872ff3e012274e2a72e", RespScript::kFieldCompareAndSet,
     "Redisson: RMap.replace of an old value"},
    {"b79224e06275fd97eacb3e10a7b1e8f0e4d50704", RespScript::kFieldRemoveIfEqual,
     "Redisson: RMap.remove of a value"},
};

/// A copy in the arena.
RespArguments Words(std::initializer_list<std::string_view> words, base::Arena& arena) {
  const std::span<std::string_view> kept = arena.Allocate<std::string_view>(words.size());
  std::copy(words.begin(), words.end(), kept.begin());
  return kept;
}

bool IsOfName(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}
bool IsBlank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == ';';
}

}  // namespace

std::string NormalScript(std::string_view text) {
  std::string normal;
  char quote = 0;
  bool has_blank = false;
  for (char byte : text) {
    if (quote == 0 && IsBlank(byte)) {
      has_blank = true;
      continue;
    }
    if (byte == '\'' || byte == '"') {
      if (quote != 0 && quote != byte) return {};
      quote = quote == 0 ? byte : '\0';
      byte = '"';
    }
    const bool parts_names =
        has_blank && !normal.empty() && IsOfName(normal.back()) && IsOfName(byte);
    if (parts_names) normal.push_back(' ');
    has_blank = false;
    normal.push_back(byte);
  }
  return Lower(normal);
}

std::string Sha1(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
    return {};
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex.push_back(kDigits[digest[i] >> 4]);
    hex.push_back(kDigits[digest[i] & 15]);
  }
  return hex;
}

RespArguments WordsOf(RespScript script, RespArguments arguments, base::Arena& arena) {
  const std::string_view key = arguments[kScriptKeyAt];
  const RespArguments given = arguments.subspan(kScriptKeyAt + 1);
  switch (script) {
    case RespScript::kSetNx:
      return Words({"setnx", key, given[0]}, arena);
    case RespScript::kGetDel:
      return Words({"getdel", key}, arena);
    case RespScript::kGetSetForMs:
      return Words({"set", key, given[0], "px", given[1], "get"}, arena);
    case RespScript::kPExpire:
    case RespScript::kPExpireAt: {
      const std::string_view name = script == RespScript::kPExpire ? "pexpire" : "pexpireat";
      if (given[1].empty()) return Words({name, key, given[0]}, arena);
      return Words({name, key, given[0], given[1]}, arena);
    }
    case RespScript::kPersist:
      return Words({"persist", key}, arena);
    case RespScript::kFieldPutIfAbsent:
      return Words({"hsetnx", key, given[0], given[1]}, arena);
    case RespScript::kFieldRemove:
    case RespScript::kFieldRemoveIfEqual:
      return Words({"hdel", key, given[0]}, arena);
    case RespScript::kFieldPut:
    case RespScript::kFieldReplace:
    case RespScript::kFieldFastReplace:
      return Words({"hset", key, given[0], given[1]}, arena);
    case RespScript::kFieldCompareAndSet:
      return Words({"hset", key, given[0], given[2]}, arena);
    default:
      return {};
  }
}

RespScript RespScripts::Load(std::string_view text, std::string* sha1) {
  if (text.size() > model::kRespScriptBytesMax) return RespScript::kNone;
  const std::string normal = Sha1(NormalScript(text));
  const auto* const found =
      std::find_if(std::begin(kScripts), std::end(kScripts),
                   [&normal](const KnownScript& one) { return one.sha1 == normal; });
  if (found == std::end(kScripts)) return RespScript::kNone;
  *sha1 = Sha1(text);
  const base::MutexLock lock(mutex_);
  if (!known_.emplace(*sha1, found->script).second) return found->script;
  order_.push_back(*sha1);
  if (order_.size() > model::kRespScriptsMax) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return found->script;
}

RespScript RespScripts::Find(std::string_view sha1) {
  const base::MutexLock lock(mutex_);
  const auto known = known_.find(Lower(sha1));
  return known != known_.end() ? known->second : RespScript::kNone;
}

}  // namespace rowsocket::frontend
