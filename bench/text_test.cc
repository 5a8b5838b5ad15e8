#include "bench/text.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::bench {
namespace {

Template Parsed(const std::string& text) {
  std::string error;
  const auto parsed = Template::Parse(text, &error);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << error;
  return parsed.value_or(Template());
}

TEST(Template, PlaceholdersBecomeTheirValues) {
  EXPECT_EQ(Parsed("").ToString(7, 0), "");
  EXPECT_EQ(Parsed("plain").ToString(7, 0), "plain");
  EXPECT_EQ(Parsed("user {n}@x").ToString(7, 0), "user 7@x");
  EXPECT_EQ(Parsed("{n:4}").ToString(7, 0), "0007");
  EXPECT_EQ(Parsed("{n:4}").ToString(12345, 0), "12345");
  EXPECT_EQ(Parsed("{n%5}{n%10}").ToString(17, 0), "27");
  EXPECT_EQ(Parsed("{x*3}y{.*2}").ToString(7, 0), "xxxy..");
  EXPECT_EQ(Parsed("{n}-{v}").ToString(7, 99), "7-99");
  EXPECT_EQ(Parsed("{n}").ToString(~uint64_t{0}, 0), "18446744073709551615");
}

TEST(Template, NoTextIsLongerThanItsLimit) {
  for (const char* text : {"", "{n}", "{n:20}", "a{v}b{n%9}", "{x*50}{n}"}) {
    const Template parsed = Parsed(text);
    EXPECT_LE(parsed.ToString(~uint64_t{0}, ~uint64_t{0}).size(), parsed.MaxBytes()) << text;
  }
}

TEST(Template, AWrongTemplateIsAnError) {
  for (const char* text : {"{", "{}", "{m}", "{n", "{n:}", "{n:0}", "{n:21}", "{n%0}", "{n%}",
                           "{x*}", "{x*a}", "{x*99999999}", "{nn}", "a\tb", "{\n*3}"}) {
    std::string error;
    EXPECT_FALSE(Template::Parse(text, &error).has_value()) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
}

TEST(Template, MatchesItsOwnTextsAndNoOthers) {
  const Template text = Parsed("a{n}b{v}c{n%7}");
  EXPECT_TRUE(text.Matches(text.ToString(20, 5), 20));
  EXPECT_TRUE(text.Matches("a20b123456c6", 20));
  EXPECT_FALSE(text.Matches(text.ToString(21, 5), 20));
  EXPECT_FALSE(text.Matches("a20bc6", 20));
  EXPECT_FALSE(text.Matches("a20b1c6 ", 20));
  EXPECT_FALSE(text.Matches("a20b1c", 20));
  EXPECT_FALSE(text.Matches("", 20));
  EXPECT_TRUE(Parsed("").Matches("", 1));
  EXPECT_TRUE(Parsed("{n:5}").Matches("00020", 20));
  EXPECT_FALSE(Parsed("{n:5}").Matches("20", 20));
}

TEST(Templates, AreSeparatedByCommas) {
  std::string error;
  const auto list = ParseTemplates("user {n},u{v}@x,", &error);
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_TRUE(ParseTemplates("", &error)->empty());
  EXPECT_FALSE(ParseTemplates("a,{", &error).has_value());
  std::string joined(JoinedBytesMax(*list), '\0');
  joined.resize(static_cast<size_t>(WriteJoined(*list, '|', joined.data(), 3, 4) - joined.data()));
  EXPECT_EQ(joined, "user 3|u4@x");
  EXPECT_TRUE(MatchesJoined(*list, '|', joined, 3));
  EXPECT_TRUE(MatchesJoined(*list, '|', "user 3|u77@x", 3));
  EXPECT_FALSE(MatchesJoined(*list, '|', joined, 4));
  EXPECT_FALSE(MatchesJoined(*list, '|', "user 3", 3));
  EXPECT_FALSE(MatchesJoined(*list, '|', "user 3|u4@x|", 3));
}

TEST(Unescape, KnowsTheBytesOfTheProtocols) {
  EXPECT_EQ(Unescape("0\\t1\\r\\n"), "0\t1\r\n");
  EXPECT_EQ(Unescape("a\\\\tb\\q\\"), "a\\tb\\q\\");
  EXPECT_EQ(Unescape("\\0"), std::string(1, '\0'));
}

}  // namespace
}  // namespace rowsocket::bench
