#include "protocol/handlersocket/framer.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::handlersocket {
namespace {

using Result = Framer::Result;
constexpr size_t kLineBytesMax = 10;

Framer::Step NextOf(Framer* framer, std::string_view input) {
  return framer->Next(input, kLineBytesMax);
}

TEST(Framer, OneLineAtATime) {
  Framer framer;
  std::string_view input = "ab\ncd\r\n\n\re\nf";
  for (const std::string_view line : {"ab", "cd", "", "\re"}) {
    const Framer::Step step = NextOf(&framer, input);
    ASSERT_EQ(step.result, Result::kLine);
    EXPECT_EQ(step.line, line);
    input.remove_prefix(step.consumed);
  }
  EXPECT_EQ(NextOf(&framer, input).result, Result::kNeedMore);
  EXPECT_EQ(NextOf(&framer, input).consumed, 0u);
}

TEST(Framer, ALineOfOneCrIsEmpty) {
  Framer framer;
  EXPECT_EQ(NextOf(&framer, "\r\n").line, "");
  EXPECT_EQ(NextOf(&framer, "\r\r\n").line, "\r");
}

TEST(Framer, NoInputAtAll) {
  Framer framer;
  EXPECT_EQ(NextOf(&framer, {}).result, Result::kNeedMore);
}

// The framer never searches a byte twice: it does not see a LF that replaces a byte afterwards.
TEST(Framer, LooksAtEachByteOnce) {
  Framer framer;
  std::string input = "abcd";
  EXPECT_EQ(NextOf(&framer, input).result, Result::kNeedMore);
  input[1] = '\n';
  input += "e\n";
  const Framer::Step step = NextOf(&framer, input);
  EXPECT_EQ(step.result, Result::kLine);
  EXPECT_EQ(step.consumed, input.size());
}

TEST(Framer, TheLimitIsOnTheBytesBeforeTheLineFeed) {
  Framer framer;
  const std::string most(kLineBytesMax, 'x');
  EXPECT_EQ(NextOf(&framer, most).result, Result::kNeedMore);
  EXPECT_EQ(NextOf(&framer, most).consumed, 0u);
  EXPECT_EQ(NextOf(&framer, most + "\n").line, most);
  const Framer::Step step = NextOf(&framer, most + "x\nnext\n");
  EXPECT_EQ(step.result, Result::kTooLong);
  EXPECT_EQ(step.consumed, kLineBytesMax + 2);
  EXPECT_EQ(NextOf(&framer, "next\n").line, "next");
}

TEST(Framer, KeepsNothingOfALineThatIsTooLongAndReportsItOnce) {
  Framer framer;
  const std::string much(kLineBytesMax + 1, 'x');
  for (int i = 0; i < 3; ++i) {
    const Framer::Step step = NextOf(&framer, much);
    EXPECT_EQ(step.result, Result::kNeedMore);
    EXPECT_EQ(step.consumed, much.size());
  }
  // A short or empty rest still belongs to the line that is too long.
  EXPECT_EQ(NextOf(&framer, "x").consumed, 1u);
  const Framer::Step step = NextOf(&framer, "\nok\n");
  EXPECT_EQ(step.result, Result::kTooLong);
  EXPECT_EQ(step.consumed, 1u);
  EXPECT_EQ(NextOf(&framer, "ok\n").line, "ok");
}

TEST(Framer, TheLimitMayGrowBetweenCalls) {
  Framer framer;
  EXPECT_EQ(framer.Next("A\t1\tkey\n", 8).result, Result::kLine);
  const std::string longer(100, 'x');
  EXPECT_EQ(framer.Next(longer + "\n", 1000).line, longer);
}

TEST(Framer, ALimitThatShrinksHoldsForWhatIsThere) {
  Framer framer;
  const std::string input(100, 'x');
  EXPECT_EQ(framer.Next(input, 1000).consumed, 0u);
  EXPECT_EQ(framer.Next(input, 50).consumed, input.size());
  EXPECT_EQ(framer.Next("\n", 50).result, Result::kTooLong);
}

}  // namespace
}  // namespace rowsocket::handlersocket
