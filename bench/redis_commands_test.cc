#include "bench/redis_commands.h"

#include <gtest/gtest.h>

#include <string>

#include "bench/test_options.h"
#include "bench/test_requests.h"

namespace rowsocket::bench {
namespace {

Options Of(const std::string& workload) {
  return MakeOptions(workload, [](Options* o) { o->key_text = "k{n}"; });
}

std::string Key(const Requests& requests, size_t i = 0) {
  const std::string key = "k" + std::to_string(requests.keys()[i]);
  return "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
}

TEST(RedisCommands, GetExpectsTheRowsText) {
  const Options options = Of("redis-get");
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*2\r\n$3\r\nGET\r\n" + Key(requests));
  EXPECT_TRUE(requests.IsOneReply("$11\r\nuser 7|u7@x\r\n", Verdict::kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("$11\r\nuser 7|u7@x\r\n", Verdict::kMismatch, {8}));
  EXPECT_TRUE(requests.IsOneReply("$-1\r\n", Verdict::kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("-NOAUTH who\r\n", Verdict::kError, {7}));
}

TEST(RedisCommands, MgetExpectsEachKeyInItsPlace) {
  const Options options = MakeOptions("redis-mget", [](Options* o) {
    o->key_text = "k{n}";
    o->batch = 2;
  });
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*3\r\n$4\r\nMGET\r\n" + Key(requests, 0) + Key(requests, 1));
  const std::string both = "*2\r\n$11\r\nuser 7|u7@x\r\n$11\r\nuser 8|u8@x\r\n";
  EXPECT_TRUE(requests.IsOneReply(both, Verdict::kRight, {7, 8}));
  EXPECT_TRUE(requests.IsOneReply(both, Verdict::kMismatch, {8, 7}));
  EXPECT_EQ(requests.Check("*2\r\n$11\r\nuser 7|u7@x\r\n$-1\r\n", {7, 8}).verdict,
            Verdict::kMismatch);
  EXPECT_EQ(requests.Check("*1\r\n$11\r\nuser 7|u7@x\r\n", {7, 8}).verdict, Verdict::kMismatch);
}

TEST(RedisCommands, HmgetExpectsEachField) {
  const Options options = Of("redis-hmget");
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*4\r\n$5\r\nHMGET\r\n" + Key(requests) + "$4\r\nname\r\n$4\r\nmail\r\n");
  EXPECT_TRUE(requests.IsOneReply("*2\r\n$6\r\nuser 7\r\n$4\r\nu7@x\r\n", Verdict::kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("*2\r\n$6\r\nuser 7\r\n$4\r\nu8@x\r\n", Verdict::kMismatch, {7}));
  EXPECT_EQ(requests.Check("*2\r\n$-1\r\n$-1\r\n", {7}).verdict, Verdict::kMismatch);
  EXPECT_TRUE(requests.IsOneReply("-NOTABLE test.k\r\n", Verdict::kError, {7}));
}

TEST(RedisCommands, SetSendsTheNewText) {
  const Options options = Of("redis-set");
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*3\r\n$3\r\nSET\r\n" + Key(requests) + "$2\r\ns1\r\n");
  EXPECT_TRUE(requests.IsOneReply("+OK\r\n", Verdict::kRight, {1}));
  EXPECT_TRUE(requests.IsOneReply("$-1\r\n", Verdict::kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("-READONLY no\r\n", Verdict::kError, {1}));
}

TEST(RedisCommands, FillsWriteEachRowOnce) {
  const Options texts = Of("redis-fill-texts");
  EXPECT_EQ(texts.requests, 50u);
  Requests requests(texts);
  EXPECT_EQ(requests.Build(), "*3\r\n$3\r\nSET\r\n$2\r\nk1\r\n$11\r\nuser 1|u1@x\r\n");
  EXPECT_NE(requests.Build().find("k2"), std::string::npos);
  const Options hashes = Of("redis-fill-hashes");
  Requests more(hashes);
  EXPECT_EQ(more.Build(),
            "*6\r\n$4\r\nHSET\r\n$2\r\nk1\r\n$4\r\nname\r\n$6\r\nuser 1\r\n$4\r\nmail\r\n"
            "$4\r\nu1@x\r\n");
  EXPECT_TRUE(more.IsOneReply(":2\r\n", Verdict::kRight, {1}));
  EXPECT_TRUE(more.IsOneReply("-OOM\r\n", Verdict::kError, {1}));
}

TEST(RedisCommands, HincrbyTellsTheNumberBefore) {
  const Options options = Of("redis-hincrby");
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*4\r\n$7\r\nHINCRBY\r\n" + Key(requests) + "$5\r\nstock\r\n$2\r\n-1\r\n");
  EXPECT_TRUE(requests.IsOneReply(":499\r\n", Verdict::kApplied, {1}));
  EXPECT_EQ(requests.Check(":499\r\n").before, 500u);
  EXPECT_TRUE(requests.IsOneReply(":-1\r\n", Verdict::kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("-NOROW none\r\n", Verdict::kError, {1}));
}

}  // namespace
}  // namespace rowsocket::bench
