#include "protocol/handlersocket/encoder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "protocol/handlersocket/errors.h"

namespace rowsocket::handlersocket {
namespace {

using namespace std::string_literals;
using model::Error;
using model::ErrorCode;

constexpr size_t kReplyBytesMax = 1000;

TEST(Encoder, ShortReplies) {
  base::Buffer out;
  AppendOk(&out);
  AppendCount(0, &out);
  AppendCount(std::numeric_limits<uint64_t>::max(), &out);
  EXPECT_EQ(out.view(), "0\t1\n0\t1\t0\n0\t1\t18446744073709551615\n");
}

TEST(Encoder, Errors) {
  base::Buffer out;
  AppendError({ErrorCode::kCmd}, &out);
  AppendError({ErrorCode::kUnauth}, &out);
  AppendError({ErrorCode::kOpenTable}, &out);
  AppendError(Error::Engine(121), &out);
  AppendError(Error::Engine(-1), &out);
  EXPECT_EQ(out.view(), "2\t1\tcmd\n3\t1\tunauth\n1\t1\topen_table\n1\t1\t121\n1\t1\t-1\n");
}

TEST(Encoder, CausesThatCallersTellApartHaveTheNumbersOfTheStorageEngine) {
  base::Buffer out;
  AppendError({ErrorCode::kLockWait}, &out);
  AppendError({ErrorCode::kDeadlock}, &out);
  AppendError({ErrorCode::kInternal}, &out);
  EXPECT_EQ(out.view(), "1\t1\t146\n1\t1\t149\n1\t1\t168\n");
}

TEST(Encoder, WordsAreThoseOfTheTable) {
  EXPECT_EQ(Text(ErrorCode::kValuesCount), "valueslen");
  EXPECT_EQ(CodeDigit(ErrorCode::kNone), 0u);
  EXPECT_EQ(Text(ErrorCode::kEngine), "");
  EXPECT_EQ(CodeDigit(ErrorCode::kEngine), 1u);
}

TEST(Encoder, EveryErrorIsOneLineOfThreeTokens) {
  for (size_t code = 1; code < model::kErrorCodes; ++code) {
    base::Buffer out;
    AppendError({static_cast<ErrorCode>(code), 1}, &out);
    const std::string_view reply = out.view();
    EXPECT_EQ(reply.find('\n'), reply.size() - 1);
    EXPECT_EQ(reply.substr(1, 3), "\t1\t");
    EXPECT_GT(reply.size(), 5u);
    EXPECT_NE(reply[0], '0');
  }
}

TEST(RowEncoder, Rows) {
  base::Buffer out;
  RowEncoder encoder(2, kReplyBytesMax, &out);
  EXPECT_TRUE(encoder.Cell("a\tb"));
  EXPECT_TRUE(encoder.NullCell());
  EXPECT_TRUE(encoder.Cell(""));
  EXPECT_TRUE(encoder.Cell("\0"s));
  encoder.Finish();
  EXPECT_EQ(out.view(), "0\t2\ta\x01Ib\t\0\t\t\x01@\n"s);
}

TEST(RowEncoder, NoRowsAndNoColumns) {
  base::Buffer out;
  RowEncoder(3, kReplyBytesMax, &out).Finish();
  RowEncoder(0, kReplyBytesMax, &out).Finish();
  EXPECT_EQ(out.view(), "0\t3\n0\t0\n");
}

TEST(RowEncoder, CancelTakesItsReplyBackAndNoOther) {
  base::Buffer out;
  AppendOk(&out);
  RowEncoder encoder(1, kReplyBytesMax, &out);
  encoder.Cell(std::string(10'000, 'x'));
  encoder.Cell("y");
  encoder.Cancel();
  AppendError({ErrorCode::kResultsize}, &out);
  EXPECT_EQ(out.view(), "0\t1\n1\t1\tresultsize\n");
}

// A reply of exactly the limit is written, one byte more is not, whether that byte comes from the
// text, from an escape or from a NULL.
TEST(RowEncoder, TheLimitIsOnTheWholeReply) {
  const std::string head = "0\t1";
  for (const size_t limit : {6u, 7u, 20u, 100u}) {
    for (const bool low : {false, true}) {
      const size_t room = limit - head.size() - 2;  // HT and LF.
      const std::string fits = low ? std::string(room / 2, '\t') : std::string(room, 'x');
      const std::string over = low ? std::string(room / 2 + 1, '\t') : std::string(room + 1, 'x');
      base::Buffer out;
      AppendOk(&out);
      const size_t before = out.size();
      RowEncoder encoder(1, limit, &out);
      EXPECT_FALSE(encoder.Cell(over)) << limit;
      EXPECT_TRUE(encoder.overflowed());
      encoder.Cancel();
      RowEncoder again(1, limit, &out);
      EXPECT_TRUE(again.Cell(fits)) << limit;
      EXPECT_FALSE(again.overflowed());
      again.Finish();
      EXPECT_LE(out.size() - before, limit);
      EXPECT_GE(out.size() - before + 1, limit);
    }
  }
  base::Buffer out;
  RowEncoder encoder(1, head.size() + 3, &out);
  EXPECT_TRUE(encoder.NullCell());
  EXPECT_FALSE(encoder.NullCell());
  EXPECT_FALSE(encoder.Cell(""));
  EXPECT_TRUE(encoder.overflowed());
}

TEST(RowEncoder, NothingIsWrittenOfACellThatDoesNotFit) {
  base::Buffer out;
  RowEncoder encoder(1, 10, &out);
  const size_t before = out.size();
  EXPECT_FALSE(encoder.Cell("0123456789"));
  EXPECT_EQ(out.size(), before);
}

TEST(RowEncoder, EachColumnCount) {
  base::Buffer out;
  RowEncoder(4096, kReplyBytesMax, &out).Finish();
  EXPECT_EQ(out.view(), "0\t4096\n");
}

}  // namespace
}  // namespace rowsocket::handlersocket
