// Scripts of rate limiters, on strings of the store.
#include "frontend/resp/scripts.h"

#include <gtest/gtest.h>

#include <string>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(RespTest, CashewsLetsACounterExpireFromOneOn) {
  const std::string count =
      "EVAL 'local current_count = redis.call(\"INCRBY\", KEYS[1], ARGV[1]) "
      "if current_count == 1 then redis.call(\"PEXPIRE\", KEYS[1], ARGV[2]) end "
      "return current_count' 1 ";
  EXPECT_EQ(":1\r\n", Ask(count + "n 1 60000"));
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ(":3\r\n", Ask(count + "n 2 900000"));
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ(":2\r\n", Ask(count + "two 2 60000"));
  EXPECT_EQ(":-1\r\n", Ask("TTL two"));
  EXPECT_EQ(":1\r\n", Ask(count + "two -1 60000"));
  EXPECT_EQ(":60\r\n", Ask("TTL two"));
  Ask("SET gone 7 PXAT 1");
  EXPECT_EQ(":2\r\n", Ask(count + "gone 2 60000")) << "what has expired counts as 0";
  EXPECT_EQ(":-1\r\n", Ask("TTL gone")) << "and its expiry as none";
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask(count + "n x 60000"));
}

TEST_F(RespTest, UluleLimiterCountsInWindowsThatMayHaveNoEnd) {
  const std::string add =
      "EVAL 'local key = KEYS[1] local count = tonumber(ARGV[1]) local ttl = tonumber(ARGV[2]) "
      "local ret = redis.call(\"incrby\", key, ARGV[1]) if ret == count then if ttl > 0 then "
      "redis.call(\"pexpire\", key, ARGV[2]) end return {ret, ttl} end "
      "ttl = redis.call(\"pttl\", key) return {ret, ttl}' 1 ";
  const std::string peek =
      "EVAL 'local key = KEYS[1] local v = redis.call(\"get\", key) if v == false then "
      "return {0, 0} end local ttl = redis.call(\"pttl\", key) return {tonumber(v), ttl}' 1 ";
  EXPECT_EQ("*2\r\n:0\r\n:0\r\n", Ask(peek + "n"));
  EXPECT_EQ("*2\r\n:2\r\n:60000\r\n", Ask(add + "n 2 60000"));
  for (const std::string& command : {add + "n 1 900000", peek + "n"}) {
    const std::string reply = Ask(command), begin = "*2\r\n:3\r\n:";
    ASSERT_TRUE(reply.starts_with(begin)) << reply;
    EXPECT_NEAR(60000, std::stol(reply.substr(begin.size())), 5000);
  }
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ("*2\r\n:1\r\n:-5\r\n", Ask(add + "endless 1 -5"));
  EXPECT_EQ("*2\r\n:2\r\n:-1\r\n", Ask(add + "endless 1 60000"));
  EXPECT_EQ("*2\r\n:2\r\n:-1\r\n", Ask(peek + "endless"));
  Ask("SET zero 0 PX 900000");
  EXPECT_EQ("*2\r\n:4\r\n:60000\r\n", Ask(add + "zero 4 60000"));
  EXPECT_EQ(":60\r\n", Ask("TTL zero"));
  Ask("SET gone 7 PXAT 1");
  EXPECT_EQ("*2\r\n:0\r\n:0\r\n", Ask(peek + "gone"));
  EXPECT_EQ("*2\r\n:1\r\n:0\r\n", Ask(add + "gone 1 0"));
  EXPECT_EQ(":-1\r\n", Ask("TTL gone"));
  Ask("SET text x");
  EXPECT_EQ("-ERR value is not an integer or out of range\r\n", Ask(peek + "text"));
}

TEST_F(RespTest, RateLimitRedisBeginsItsWindowAnewIfItIsAskedTo) {
  const std::string count =
      "EVAL 'local windowMs = tonumber(ARGV[2]) local resetOnChange = ARGV[1] == \"1\" "
      "local timeToExpire = redis.call(\"PTTL\", KEYS[1]) if timeToExpire <= 0 then "
      "redis.call(\"SET\", KEYS[1], 1, \"PX\", windowMs) return { 1, windowMs } end "
      "local totalHits = redis.call(\"INCR\", KEYS[1]) if resetOnChange then "
      "redis.call(\"PEXPIRE\", KEYS[1], windowMs) timeToExpire = windowMs end "
      "return { totalHits, timeToExpire }' 1 ";
  EXPECT_EQ("*2\r\n:1\r\n:60000\r\n", Ask(count + "n 0 60000"));
  const std::string reply = Ask(count + "n 0 900000"), begin = "*2\r\n:2\r\n:";
  ASSERT_TRUE(reply.starts_with(begin)) << reply;
  EXPECT_NEAR(60000, std::stol(reply.substr(begin.size())), 5000);
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ("*2\r\n:3\r\n:900000\r\n", Ask(count + "n 1 900000"));
  EXPECT_EQ(":900\r\n", Ask("TTL n"));
  Ask("SET endless 7");
  EXPECT_EQ("*2\r\n:1\r\n:60000\r\n", Ask(count + "endless 0 60000"));
  EXPECT_EQ("-ERR the script has one key, and more arguments\r\n", Ask(count + "n 0"));
}

TEST_F(RespTest, InfoTellsWhichScriptsWereRefused) {
  Ask("EVAL 'return 1' 0");
  Ask("EVAL 'return 2' 0");
  Ask("SCRIPT LOAD 'return 1'");
  Ask("MULTI");
  Ask("EVAL 'return 1' 0");
  Ask("DISCARD");
  Ask("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0");
  Ask("CLIENT TRACKING ON");
  Ask("CLIENT TRACKING OFF");
  const std::string info = Ask("INFO refused");
  EXPECT_NE(std::string::npos,
            info.find("\r\nrefused_client:1\r\nrefused_eval:3\r\nrefused_script:1\r\n"))
      << info << "EVALSHA's client sends the text after it";
}

TEST_F(RespTest, WhatIsNotServedCountsOnceHoweverItComes) {
  for (const char* refused : {"EVAL 'return 1' 0", "LPUSH a b"}) {
    Run(Parse(std::string("MULTI\r\n") + refused + "\r\nEXEC\r\n"));
    Ask(refused);
    Ask("DISCARD");
  }
  Ask("OBJECT IDLETIME a");
  Ask("RENAME t:1 t:2");
  const std::string info = Ask("INFO refused");
  EXPECT_NE(std::string::npos, info.find("\r\nrefused_eval:1\r\n")) << info;
  EXPECT_NE(std::string::npos, info.find("\r\nrefused_lpush:1\r\n")) << info;
  EXPECT_NE(std::string::npos, info.find("\r\nrefused_rename:1\r\n")) << info;
  EXPECT_NE(std::string::npos, info.find("\r\nrefused_object:1\r\n")) << info;
}

TEST_F(RespTest, ThrottledSetsWhereTheKeyHoldsWhatItHasRead) {
  const std::string swap =
      "EVAL 'local v = redis.call(\"get\", KEYS[1]) if v == false then "
      "return redis.error_reply(\"key does not exist\") end if v ~= ARGV[1] then return 0 end "
      "redis.call(\"setex\", KEYS[1], ARGV[3], ARGV[2]) return 1' 1 ";
  EXPECT_EQ("-key does not exist\r\n", Ask(swap + "n 1 2 60"));
  Ask("SET n 1 PXAT 1");
  EXPECT_EQ("-key does not exist\r\n", Ask(swap + "n 1 2 60")) << "it has expired";
  Ask("SET n 1");
  EXPECT_EQ(":0\r\n", Ask(swap + "n 2 3 60"));
  EXPECT_EQ(":-1\r\n", Ask("TTL n"));
  EXPECT_EQ(":1\r\n", Ask(swap + "n 1 3 60"));
  EXPECT_EQ("$1\r\n3\r\n", Ask("GET n"));
  EXPECT_EQ(":60\r\n", Ask("TTL n"));
  EXPECT_EQ("-ERR the script has one key, and more arguments\r\n", Ask(swap + "n 1 2"));
}

}  // namespace
}  // namespace rowsocket::frontend
