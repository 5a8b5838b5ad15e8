#include "bench/redis.h"

#include <gtest/gtest.h>

#include <string>

#include "bench/test_options.h"
#include "bench/test_requests.h"

namespace rowsocket::bench {
namespace {

const std::string kDigest(40, 'd');

Options WithStock(uint64_t stock) {
  return MakeOptions("redis-decr", [&](Options* o) {
    o->key_text = "stock:{n}";
    o->hot_rows = 2;
    o->redis_stock = stock;
  });
}

TEST(Redis, TheHelloLoadsTheScriptAndTheFirstOneTheStock) {
  const Options options = WithStock(500);
  Requests requests(options);
  const Hello first = requests.workload()->MakeHello();
  EXPECT_EQ(first.replies, 3u);
  EXPECT_TRUE(first.bytes.starts_with("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$"));
  EXPECT_TRUE(
      first.bytes.ends_with("*3\r\n$3\r\nSET\r\n$7\r\nstock:1\r\n$3\r\n500\r\n"
                            "*3\r\n$3\r\nSET\r\n$7\r\nstock:2\r\n$3\r\n500\r\n"));
  EXPECT_EQ(requests.workload()->MakeHello().replies, 1u);
}

TEST(Redis, RequestsNameTheScriptByTheDigestOfTheHello) {
  const Options options = WithStock(0);
  Requests requests(options);
  const std::string reply = "$40\r\n" + kDigest + "\r\n";
  EXPECT_EQ(requests.workload()->CheckHello(reply.substr(0, 20), 0).bytes, 0u);
  const Checked checked = requests.workload()->CheckHello(reply + "+OK\r\n", 0);
  EXPECT_EQ(checked.bytes, reply.size());
  EXPECT_EQ(checked.verdict, Verdict::kRight);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + kDigest + "\r\n$1\r\n1\r\n$7\r\nstock:" +
                         std::to_string(requests.keys()[0]) + "\r\n$1\r\n3\r\n");
}

TEST(Redis, ARefusalInTheHelloIsAnError) {
  const Options options = WithStock(0);
  Requests requests(options);
  EXPECT_EQ(requests.workload()->CheckHello("-NOAUTH\r\n", 0).verdict, Verdict::kError);
  EXPECT_EQ(requests.workload()->CheckHello("-OOM\r\n", 1).verdict, Verdict::kError);
  EXPECT_EQ(requests.workload()->CheckHello("+OK\r\n", 1).verdict, Verdict::kRight);
}

TEST(Redis, RepliesAreTheValueBeforeOrMinusOne) {
  const Options options = WithStock(0);
  Requests requests(options);
  EXPECT_TRUE(requests.IsOneReply(":500\r\n", Verdict::kApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply(":-1\r\n", Verdict::kNotApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply(":3\r\n", Verdict::kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply(":-2\r\n", Verdict::kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("$-1\r\n", Verdict::kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("-NOSCRIPT no\r\n", Verdict::kError, {1}));
}

TEST(Redis, APurchaseAppendsItsOrder) {
  const Options options = MakeOptions("redis-purchase", [](Options* o) { o->key_text = "s{n}"; });
  Requests requests(options);
  EXPECT_NE(requests.workload()->MakeHello().bytes.find("RPUSH"), std::string::npos);
  requests.workload()->CheckHello("$40\r\n" + kDigest + "\r\n", 0);
  EXPECT_EQ(requests.Build(),
            "*7\r\n$7\r\nEVALSHA\r\n$40\r\n" + kDigest +
                "\r\n$1\r\n2\r\n$2\r\ns1\r\n$6\r\norders\r\n$1\r\n3\r\n$6\r\n1 1 t1\r\n");
  EXPECT_TRUE(requests.IsOneReply(":500\r\n", Verdict::kApplied, {1}));
}

}  // namespace
}  // namespace rowsocket::bench
