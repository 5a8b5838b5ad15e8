#include "bench/memcached.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bench/test_options.h"
#include "bench/test_requests.h"

namespace rowsocket::bench {
namespace {

Options WithKeys(const std::string& workload, size_t batch = 0) {
  return MakeOptions(workload, [&](Options* o) {
    o->key_text = "k{n}";
    o->batch = batch;
  });
}

TEST(MemcachedGet, ExpectsTheValuesOfTheRow) {
  const Options options = WithKeys("mc-get");
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "get k" + std::to_string(requests.keys()[0]) + "\r\n");
  EXPECT_TRUE(requests.IsOneReply("VALUE k7 0 11\r\nuser 7|u7@x\r\nEND\r\n", kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("VALUE k7 4294967295 11\r\nuser 7|u7@x\r\nEND\r\n", kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("VALUE k7 0 11\r\nuser 8|u8@x\r\nEND\r\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("VALUE k8 0 11\r\nuser 7|u7@x\r\nEND\r\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("VALUE k7 0 6\r\nuser 7\r\nEND\r\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("END\r\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("SERVER_ERROR busy\r\n", kError, {7}));
  EXPECT_TRUE(requests.IsOneReply("ERROR\r\n", kError, {7}));
  EXPECT_EQ(requests.Check("VALUE k7 0 11\r\nuser 7|u7@xzzEND\r\n", {7}).verdict, kMismatch);
  EXPECT_EQ(requests.Check("VALUE k7 0 1x\r\n", {7}).bytes, 0u);
}

TEST(MemcachedGet, ASetValueIsNoRightValueWithoutSets) {
  const Options options = WithKeys("mc-get");
  Requests requests(options);
  requests.Build();
  EXPECT_EQ(requests.Check("VALUE k7 0 2\r\ns5\r\nEND\r\n", {7}).verdict, kMismatch);
}

std::string BinaryReply(uint8_t magic, uint8_t status, uint8_t extras, const std::string& body) {
  std::string reply(24, '\0');
  reply[0] = static_cast<char>(magic);
  reply[4] = static_cast<char>(extras);
  reply[7] = static_cast<char>(status);
  reply[10] = static_cast<char>(body.size() >> 8);
  reply[11] = static_cast<char>(body.size());
  return reply + body;
}

TEST(MemcachedBinaryGet, ExpectsTheValuesOfTheRow) {
  const Options options = WithKeys("mc-binary-get");
  Requests requests(options);
  const std::string request = requests.Build();
  const std::string key = "k" + std::to_string(requests.keys()[0]);
  std::string header(24, '\0');
  header[0] = static_cast<char>(0x80);
  header[3] = header[11] = static_cast<char>(key.size());
  EXPECT_EQ(request, header + key);
  const std::string flags(4, '\0');
  const std::string value = "user 7|u7@x";
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x81, 0, 4, flags + value), kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x81, 0, 4, flags + value), kMismatch, {8}));
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x81, 0, 4, flags), kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x81, 0, 4, "abc"), kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x80, 0, 4, flags + value), kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply(BinaryReply(0x81, 1, 0, "Not found"), kError, {7}));
  EXPECT_EQ(requests.Check(BinaryReply(0x81, 1, 0, "Not found"), {7}).text, "Not found");
}

TEST(MemcachedMultiGet, EveryKeyMustComeInOrder) {
  const Options options = WithKeys("mc-multiget", 2);
  Requests requests(options);
  const std::string request = requests.Build();
  EXPECT_EQ(request, "get k" + std::to_string(requests.keys()[0]) + " k" +
                         std::to_string(requests.keys()[1]) + "\r\n");
  const std::string four = "VALUE k4 0 11\r\nuser 4|u4@x\r\n";
  const std::string five = "VALUE k5 0 11\r\nuser 5|u5@x\r\n";
  EXPECT_TRUE(requests.IsOneReply(four + five + "END\r\n", kRight, {4, 5}));
  EXPECT_EQ(requests.Check(four + five + "END\r\n", {4, 5}).rows, 2u);
  EXPECT_TRUE(requests.IsOneReply(five + four + "END\r\n", kMismatch, {4, 5}));
  EXPECT_TRUE(requests.IsOneReply(four + "END\r\n", kMismatch, {4, 5}));
  EXPECT_TRUE(requests.IsOneReply(four + five + five + "END\r\n", kMismatch, {4, 5}));
}

TEST(MemcachedSet, StoresANewValueEachTime) {
  const Options options = WithKeys("mc-set");
  Requests requests(options);
  const std::string first = requests.Build();
  EXPECT_EQ(first, "set k" + std::to_string(requests.keys()[0]) + " 0 0 2\r\ns1\r\n");
  const std::string second = requests.Build();
  EXPECT_EQ(second, "set k" + std::to_string(requests.keys()[0]) + " 0 0 2\r\ns2\r\n");
  EXPECT_TRUE(requests.IsOneReply("STORED\r\n", kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("NOT_STORED\r\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("SERVER_ERROR out of memory\r\n", kError, {7}));
}

TEST(MemcachedFill, SetsEveryRowOnce) {
  const Options options = WithKeys("mc-fill");
  EXPECT_EQ(options.requests, options.rows);
  Requests requests(options);
  std::set<uint64_t> rows;
  for (uint64_t i = 0; i < options.requests; ++i) {
    const std::string request = requests.Build();
    const std::string n = std::to_string(requests.keys()[0]);
    const std::string value = "user " + n + "|u" + n + "@x";
    EXPECT_EQ(request,
              "set k" + n + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n");
    rows.insert(requests.keys()[0]);
  }
  EXPECT_EQ(rows.size(), options.rows);
  EXPECT_EQ(*rows.begin(), 1u);
}

TEST(MemcachedMixed, AGetMayFindWhatASetHasLeft) {
  const Options options = WithKeys("mc-mixed");
  Requests requests(options);
  int reads = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool is_read = requests.Build()[0] == 'g';
    reads += is_read;
    const std::string head = "VALUE k" + std::to_string(requests.keys()[0]) + " 0 ";
    EXPECT_EQ(requests.Check(head + "4\r\ns123\r\nEND\r\n").verdict, is_read ? kRight : kMismatch);
    EXPECT_EQ(requests.Check(head + "4\r\nsabc\r\nEND\r\n").verdict, kMismatch);
    EXPECT_EQ(requests.Check("STORED\r\n").verdict, is_read ? kMismatch : kRight);
  }
  EXPECT_NEAR(reads, 1800, 100);
}

TEST(MemcachedArithmetic, HdAndVaAreAppliedNsIsNot) {
  const Options options = WithKeys("mc-ma");
  Requests requests(options);
  EXPECT_EQ(requests.Build(), "ma k1 MD D1 v\r\n");
  EXPECT_TRUE(requests.IsOneReply("HD\r\n", Verdict::kApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("NS\r\n", Verdict::kNotApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("VA 3\r\n499\r\n", Verdict::kApplied, {1}));
  EXPECT_EQ(requests.Check("VA 3\r\n499\r\n", {1}).before, 500u);
  EXPECT_TRUE(requests.IsOneReply("VA 3 t0\r\n499\r\n", Verdict::kApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("VA 3\r\n4x9\r\n", kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("NF\r\n", kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("CLIENT_ERROR bad flag\r\n", kError, {1}));
}

}  // namespace
}  // namespace rowsocket::bench
