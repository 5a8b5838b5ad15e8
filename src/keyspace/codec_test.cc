#include "keyspace/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace rowsocket::keyspace {
namespace {

/// The columns of a text as `a,b,NULL`, or "refused".
std::string Split(std::string_view text, size_t columns) {
  base::Arena arena;
  std::vector<model::Value> parts(columns);
  if (!SplitColumns(text, '|', arena, parts)) return "refused";
  std::string all;
  for (const model::Value& part : parts) {
    if (!all.empty() || &part != parts.data()) all += ',';
    all += part.is_null() ? "NULL" : std::string(part.text());
  }
  return all;
}

TEST(CodecTest, EmptyColumnsKeepTheirPlace) {
  EXPECT_EQ("a,,c", Split("a||c", 3));
  EXPECT_EQ(",,", Split("||", 3));
  EXPECT_EQ("", Split("", 1));
}

TEST(CodecTest, AnotherNumberOfColumnsIsRefused) {
  EXPECT_EQ("refused", Split("a|b", 3));
  EXPECT_EQ("refused", Split("a|b|c|d", 3));
  EXPECT_EQ("refused", Split("", 2));
}

TEST(CodecTest, EscapesStandForThemselvesOnly) {
  EXPECT_EQ("a|b,c", Split("a\\|b|c", 2));
  EXPECT_EQ("a\\,c", Split("a\\\\|c", 2));
  EXPECT_EQ("NULL,\\N", Split("\\N|\\\\N", 2));
  EXPECT_EQ("refused", Split("a\\n|c", 2));
  EXPECT_EQ("refused", Split("a|c\\", 2));
  EXPECT_EQ("refused", Split("\\NN|c", 2));
}

TEST(CodecTest, AByteToEscapeIsFoundAtEachPlaceOfALongColumn) {
  for (const char special : {'|', '\\'}) {
    for (size_t at = 0; at < 20; ++at) {
      std::string text(20, '\xfd');
      text[at] = special;
      base::Buffer out;
      AppendColumn(model::Value(std::string_view(text)), '|', out);
      EXPECT_EQ(text.insert(at, 1, '\\'), out.view()) << at;
    }
  }
}

TEST(CodecTest, JoinedColumnsSplitIntoTheSameColumns) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes{"|\\Na\0x", 6};
  for (int round = 0; round < 2000; ++round) {
    std::array<std::string, 3> texts;
    std::array<model::Value, 3> values;
    base::Buffer joined;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t size = random() % 5; size > 0; --size) texts[i] += kBytes[random() % 6];
      if (random() % 4 != 0) values[i] = model::Value(std::string_view(texts[i]));
      if (i != 0) joined.Append('|');
      AppendColumn(values[i], '|', joined);
    }
    base::Arena arena;
    std::array<model::Value, 3> parts;
    ASSERT_TRUE(SplitColumns(joined.view(), '|', arena, parts)) << joined.view();
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(values[i].is_null(), parts[i].is_null());
      EXPECT_EQ(values[i].text(), parts[i].text());
    }
  }
}

}  // namespace
}  // namespace rowsocket::keyspace
