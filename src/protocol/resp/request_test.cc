#include "protocol/resp/request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/buffer.h"
#include "model/limits.h"
#include "protocol/resp/reply.h"

namespace rowsocket::resp {
namespace {

using Result = RequestStep::Result;
constexpr RequestLimits kLimits{8, 100, true};

/// The arguments with a bar between, or the error.
std::string Parse(const std::string& input, const RequestLimits& limits = kLimits) {
  base::Arena arena;
  // A copy without room after it, so that ASan notices a byte read too far.
  const std::vector<char> bytes(input.begin(), input.end());
  const RequestStep step = NextRequest({bytes.data(), bytes.size()}, limits, arena);
  switch (step.result) {
    case Result::kNeedMore:
      return "more";
    case Result::kNothing:
      return "nothing " + std::to_string(step.consumed);
    case Result::kHttp:
      return "http";
    case Result::kError:
      return "error " + std::string(step.error);
    case Result::kRequest:
      break;
  }
  std::string text = std::to_string(step.consumed);
  for (const std::string_view argument : step.arguments) text.append("|").append(argument);
  return text;
}

TEST(RespRequest, ArraysOfBulkStrings) {
  EXPECT_EQ("21|HGET|k", Parse("*2\r\n$4\r\nHGET\r\n$1\r\nk\r\nrest"));
  EXPECT_EQ("19|a\r\n|", Parse("*2\r\n$3\r\na\r\n\r\n$0\r\n\r\n"));
  EXPECT_EQ("nothing 4", Parse("*0\r\n"));
  EXPECT_EQ("nothing 5", Parse("*-1\r\n"));
}

TEST(RespRequest, EveryBeginningNeedsMore) {
  const std::string whole = "*2\r\n$4\r\nHGET\r\n$1\r\nk\r\n";
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ("more", Parse(whole.substr(0, size)));
}

TEST(RespRequest, ErrorsHaveTheTextsOfRedis) {
  EXPECT_EQ("error expected '$', got 'G'", Parse("*1\r\nGET\r\n"));
  EXPECT_EQ("error invalid multibulk length", Parse("*9\r\n"));
  EXPECT_EQ("error invalid multibulk length", Parse("*x\r\n"));
  EXPECT_EQ("error unauthenticated multibulk length", Parse("*9\r\n", {8, 100, false}));
  EXPECT_EQ("error invalid bulk length", Parse("*1\r\n$101\r\n"));
  EXPECT_EQ("error unauthenticated bulk length", Parse("*1\r\n$101\r\n", {8, 100, false}));
  EXPECT_EQ("error invalid bulk length", Parse("*1\r\n$-5\r\n"));
  EXPECT_EQ("error expected CR LF after a bulk string", Parse("*1\r\n$4\r\nPINGxx"));
  EXPECT_EQ("error too big inline request",
            Parse(std::string(model::kRespInlineBytesMax + 1, 'a')));
  EXPECT_EQ("error too big mbulk count string",
            Parse("*" + std::string(model::kRespCountBytesMax + 1, '1')));
}

TEST(RespRequest, CopiesOfInlineArgumentsAreWiped) {
  base::Arena arena;
  const std::string line = "AUTH \"user\" secret\r\n";
  const RequestStep step = NextRequest(line, kLimits, arena);
  ASSERT_EQ(step.arguments.size(), 3u);
  WipeCopies(line, step.arguments);
  EXPECT_EQ(step.arguments[2], std::string_view("\0\0\0\0\0\0", 6));
  const std::string array = "*1\r\n$6\r\nsecret\r\n";
  WipeCopies(array, NextRequest(array, kLimits, arena).arguments);
  EXPECT_EQ(array, "*1\r\n$6\r\nsecret\r\n") << "it may be parsed again";
}

TEST(RespRequest, ManyArgumentsTakeNoMemoryBeforeTheyHaveCome) {
  const RequestLimits limits{size_t{1} << 20, size_t{16} << 20, true};
  std::string some;
  for (int i = 0; i < 30'000; ++i) some += "$1\r\nx\r\n";
  base::Arena arena;
  EXPECT_EQ(NextRequest("*1048576\r\n" + some, limits, arena).result, Result::kNeedMore);
  EXPECT_LT(arena.allocated_bytes(), size_t{64} << 10);
  EXPECT_EQ(Parse("*1048577\r\n" + some, limits), "error invalid multibulk length");
  EXPECT_EQ(Parse("*30001\r\n" + some + "GET", limits), "error expected '$', got 'G'");
  const std::string whole = "*30000\r\n" + some;
  const RequestStep step = NextRequest(whole, limits, arena);
  EXPECT_EQ(step.result, Result::kRequest);
  EXPECT_EQ(step.arguments.size(), 30'000u);
  EXPECT_EQ(step.consumed, whole.size());
}

// Bytes that have been read are spoiled: reading them again would give an error.
TEST(RespRequest, OfManyArgumentsThoseThatHaveComeAreNotReadAgain) {
  const RequestLimits limits{size_t{1} << 20, size_t{16} << 20, true};
  std::string come = "*1000\r\n", spoiled = come;
  for (int i = 0; i < 999; ++i) come += "$1\r\nx\r\n";
  spoiled.resize(come.size(), '!');
  base::Arena arena;
  RequestProgress progress;
  EXPECT_EQ(NextRequest(come, limits, arena, &progress).result, Result::kNeedMore);
  EXPECT_EQ(progress.arguments, 999u);
  EXPECT_EQ(progress.at, come.size());
  const std::string last = "$2\r\nyz\r\n";
  for (size_t size = 0; size < last.size(); ++size) {
    const std::string input = spoiled + last.substr(0, size);
    EXPECT_EQ(NextRequest(input, limits, arena, &progress).result, Result::kNeedMore) << size;
  }
  const std::string whole = come + last;
  const RequestStep step = NextRequest(whole, limits, arena, &progress);
  ASSERT_EQ(step.result, Result::kRequest);
  EXPECT_EQ(step.arguments.size(), 1000u);
  EXPECT_EQ(step.arguments.back(), "yz");
  EXPECT_EQ(step.consumed, whole.size());
}

TEST(RespRequest, AnErrorIsFoundAfterArgumentsThatHaveCome) {
  const RequestLimits limits{1000, 1u << 20, true};
  std::string input = "*300\r\n";
  for (int i = 0; i < 200; ++i) input += "$1\r\nx\r\n";
  base::Arena arena;
  RequestProgress progress;
  EXPECT_EQ(NextRequest(input, limits, arena, &progress).result, Result::kNeedMore);
  const RequestStep step = NextRequest(input + "GET", limits, arena, &progress);
  EXPECT_EQ(step.result, Result::kError);
  EXPECT_EQ(step.error, "expected '$', got 'G'");
}

TEST(RespRequest, InlineCommands) {
  EXPECT_EQ("6|PING", Parse("PING\r\n"));
  EXPECT_EQ("5|PING", Parse("PING\n"));
  EXPECT_EQ("nothing 2", Parse("\r\n"));
  EXPECT_NE(std::string::npos, Parse("SET \"a\\x41\\n\" 'c\\'d' \"\"\r\n").find("|SET|aA\n|c'd|"));
  EXPECT_EQ("error unbalanced quotes in request", Parse("SET \"a\r\n"));
  EXPECT_EQ("error unbalanced quotes in request", Parse("SET \"a\"b\r\n"));
  EXPECT_EQ("http", Parse("POST / HTTP/1.1\r\nHost: x\r\n"));
}

TEST(RespReply, ShapesOfBothVersions) {
  base::Buffer out;
  for (const Version version : {Version::k2, Version::k3}) {
    AppendNil(version, &out);
    AppendNilArray(version, &out);
    AppendMap(1, version, &out);
    AppendSet(1, version, &out);
    AppendVerbatim("x", version, &out);
  }
  AppendInteger(-5, &out);
  AppendBulk("", &out);
  AppendError("ERR a\r\nb", &out);
  EXPECT_EQ(
      "$-1\r\n*-1\r\n*2\r\n*1\r\n$1\r\nx\r\n_\r\n_\r\n%1\r\n~1\r\n=5\r\ntxt:x\r\n:-5\r\n$0\r\n\r\n-"
      "ERR a  "
      "b\r\n",
      out.view());
}

/// What the pattern of `first` takes of `next`: as Parse shows it, or "other".
std::string Repeat(const std::string& first, const std::string& next,
                   const RequestLimits& limits = kLimits) {
  base::Arena arena;
  const RequestStep noted = NextRequest(first, {16, 4096, true}, arena);
  EXPECT_EQ(noted.result, Result::kRequest);
  RequestPattern pattern;
  pattern.Note(std::string_view(first).substr(0, noted.consumed), noted.arguments);
  const std::vector<char> bytes(next.begin(), next.end());
  RequestStep step;
  if (!pattern.Take({bytes.data(), bytes.size()}, limits, arena, &step)) return "other";
  EXPECT_EQ(step.result, Result::kRequest);
  std::string text = std::to_string(step.consumed);
  for (const std::string_view argument : step.arguments) text.append("|").append(argument);
  return text;
}

TEST(RespRequest, APatternTakesTheSameCommandForAnyKey) {
  const std::string first = "*3\r\n$4\r\nHGET\r\n$3\r\nt:1\r\n$1\r\nf\r\n";
  const std::string next = "*3\r\n$4\r\nHGET\r\n$5\r\nt:1\r\n\r\n$1\r\nf\r\n";
  EXPECT_EQ(Repeat(first + "rest", next + "more"), Parse(next + "more"));
  EXPECT_EQ(Parse(next), "32|HGET|t:1\r\n|f");
  EXPECT_EQ(Repeat(first, "*3\r\n$4\r\nHGET\r\n$0\r\n\r\n$1\r\nf\r\n"), "27|HGET||f");
  for (size_t size = 0; size < next.size(); ++size)
    EXPECT_EQ(Repeat(first, next.substr(0, size)), "other");
}

TEST(RespRequest, APatternTakesNoOtherCommand) {
  const std::string first = "*3\r\n$4\r\nHGET\r\n$3\r\nt:1\r\n$1\r\nf\r\n";
  for (const std::string other :
       {"*3\r\n$4\r\nHSET\r\n$3\r\nt:1\r\n$1\r\nf\r\n",
        "*3\r\n$4\r\nHGET\r\n$3\r\nt:1\r\n$1\r\ng\r\n",
        "*4\r\n$4\r\nHGET\r\n$3\r\nt:1\r\n$1\r\nf\r\n$1\r\ng\r\n",
        "*3\r\n$4\r\nHGET\r\n$2\r\nt:1\r\n$1\r\nf\r\n", "*3\r\n$4\r\nHGET\r\n$-1\r\n$1\r\nf\r\n",
        "*3\r\n$4\r\nHGET\r\n$9223372036854775807\r\nt:1\r\n$1\r\nf\r\n", "HGET t:1 f\r\n"})
    EXPECT_EQ(Repeat(first, other), "other") << other;
  EXPECT_EQ(Repeat("HGET t:1 f\r\n", "HGET t:1 f\r\n"), "other");
  EXPECT_EQ(Repeat("*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\r\n"), "other");
}

TEST(RespRequest, APatternHasTheLimitsOfTheRequest) {
  const std::string request = "*3\r\n$4\r\nHGET\r\n$3\r\nt:1\r\n$1\r\nf\r\n";
  EXPECT_EQ(Repeat(request, request, {3, request.size(), true}), Parse(request));
  EXPECT_EQ(Repeat(request, request, {2, request.size(), true}), "other");
  EXPECT_EQ(Repeat(request, request, {3, request.size() - 1, true}), "other");
  const std::string large =
      "*3\r\n$4\r\nHGET\r\n$1\r\nk\r\n$600\r\n" + std::string(600, 'f') + "\r\n";
  EXPECT_EQ(Repeat(large, large, {3, 4096, true}), "other");
}

}  // namespace
}  // namespace rowsocket::resp
