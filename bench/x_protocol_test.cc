#include "bench/x_protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "bench/test_options.h"
#include "bench/test_requests.h"
#include "bench/x_frames.h"

namespace rowsocket::bench {
namespace {

std::string ReplyFrame(x::Reply type, const x::Message& message = {}) {
  return message.Frame(static_cast<x::Request>(type));
}

std::string Affected(uint64_t rows) {
  const x::Message change =
      x::Message().Number(1, 4).Inside(2, x::Message().Number(1, 2).Number(3, rows));
  return ReplyFrame(x::Reply::kNotice, x::Message().Number(1, 3).Number(2, 2).Inside(3, change)) +
         ReplyFrame(x::Reply::kExecuteOk);
}

std::string Error(std::string_view text) {
  return ReplyFrame(x::Reply::kError, x::Message().Number(2, 1205).Text(3, text).Text(4, "HY000"));
}

TEST(XProtocol, NumbersAreWrittenAndRead) {
  for (const uint64_t number :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, ~uint64_t{0}}) {
    char bytes[x::kVarintBytesMax];
    const auto length = static_cast<size_t>(x::WriteVarint(bytes, number) - bytes);
    EXPECT_EQ(length, x::VarintBytes(number));
    std::string_view from(bytes, length);
    uint64_t found = 1;
    ASSERT_TRUE(x::TakeVarint(&from, &found));
    EXPECT_EQ(found, number);
    EXPECT_TRUE(from.empty());
  }
  std::string_view endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
  uint64_t number = 0;
  EXPECT_FALSE(x::TakeVarint(&endless, &number));
}

TEST(XProtocol, TheHelloLogsInAndPrepares) {
  const Options options = MakeOptions("x-get");
  Requests requests(options);
  const Hello hello = requests.workload()->MakeHello();
  EXPECT_EQ(hello.replies, 2u);
  const x::Frame login = x::FirstFrame(hello.bytes);
  EXPECT_EQ(static_cast<int>(login.type), static_cast<int>(x::Request::kAuthenticateStart));
  EXPECT_EQ(x::FindField(login.payload, 2).text, (std::string_view("\0root\0", 6)));
  const x::Frame statement = x::FirstFrame(std::string_view(hello.bytes).substr(login.bytes));
  EXPECT_EQ(static_cast<int>(statement.type), static_cast<int>(x::Request::kPrepare));
  const std::string notice = ReplyFrame(x::Reply::kNotice, x::Message().Number(1, 5));
  const std::string welcome = ReplyFrame(x::Reply::kAuthenticateOk);
  EXPECT_EQ(requests.workload()->CheckHello(notice, 0).bytes, 0u);
  const Checked checked = requests.workload()->CheckHello(notice + welcome, 0);
  EXPECT_EQ(checked.bytes, notice.size() + welcome.size());
  EXPECT_EQ(checked.verdict, Verdict::kRight);
  EXPECT_EQ(requests.workload()->CheckHello(welcome, 1).verdict, Verdict::kError);
  EXPECT_EQ(requests.workload()->CheckHello(Error("no"), 1).text, "no");
}

TEST(XProtocol, ARequestHasItsKeyAsANumber) {
  const Options options = MakeOptions("x-get");
  Requests requests(options);
  const std::string request = requests.Build();
  const uint64_t key = requests.keys()[0];
  const x::Frame frame = x::FirstFrame(request);
  ASSERT_EQ(frame.bytes, request.size());
  EXPECT_EQ(static_cast<int>(frame.type), static_cast<int>(x::Request::kExecute));
  const std::string_view scalar = x::FindField(x::FindField(frame.payload, 2).text, 2).text;
  EXPECT_EQ(x::FindField(scalar, 3).value, key);
}

TEST(XProtocol, ARowIsComparedWithTheRowAskedFor) {
  const Options options = MakeOptions("x-get", [](Options* o) {
    o->columns_text = "name,created";
    o->values_text = "user {n},2010-02-03 11:22:00";
  });
  Requests requests(options);
  const auto row = [](std::string_view name) {
    return ReplyFrame(x::Reply::kRow,
                      x::Message().Text(1, name).Text(1, "\xda\x0f\x02\x03\x0b\x16")) +
           ReplyFrame(x::Reply::kExecuteOk);
  };
  EXPECT_TRUE(requests.IsOneReply(row({"user 7\0", 7}), Verdict::kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply(row({"user 8\0", 7}), Verdict::kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply(ReplyFrame(x::Reply::kExecuteOk), Verdict::kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply(Error("gone"), Verdict::kError, {7}));
}

TEST(XProtocol, AChangeCountsItsRows) {
  const Options update = MakeOptions("x-update");
  Requests updates(update);
  EXPECT_NE(updates.Build().find("s1"), std::string::npos);
  EXPECT_TRUE(updates.IsOneReply(Affected(1), Verdict::kRight, {7}));
  EXPECT_TRUE(updates.IsOneReply(Affected(0), Verdict::kMismatch, {7}));
  const Options decrement = MakeOptions("x-decrement");
  Requests decrements(decrement);
  EXPECT_EQ(decrements.keys().size(), 1u);
  EXPECT_TRUE(decrements.IsOneReply(Affected(1), Verdict::kApplied, {1}));
  EXPECT_TRUE(decrements.IsOneReply(Affected(0), Verdict::kNotApplied, {1}));
  EXPECT_TRUE(decrements.IsOneReply(Error("deadlock"), Verdict::kError, {1}));
}

TEST(XProtocol, AnInsertHasAllItsTexts) {
  const Options options = MakeOptions("x-insert");
  Requests requests(options);
  const std::string request = requests.Build();
  const std::string id = std::to_string(requests.keys()[0]);
  EXPECT_NE(request.find("user " + id), std::string::npos);
  EXPECT_NE(request.find("u" + id + "@x"), std::string::npos);
}

}  // namespace
}  // namespace rowsocket::bench
