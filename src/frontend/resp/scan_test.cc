// What SCAN and KEYS look at, and where they stop.
#include "frontend/resp/scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/resp/resp_fixture.h"
#include "frontend/resp/scanned_rows.h"

namespace rowsocket::frontend {
namespace {

TEST_F(RespTest, AnIndexThatNamesNoRowsOrHoldsThemInPartIsNotListed) {
  store_.CreateTable({"shop.page",
                      {"id", "t", "u"},
                      {{"PRIMARY", {0}},
                       {"front", {1}, /*is_unique=*/true, /*has_prefix=*/true},
                       {"many", {1}},
                       {"whole", {2}, /*is_unique=*/true}}},
                     {{"1", "text", "a"}, {"2", "text", "b"}});
  for (const std::string command : {"SCAN 0 COUNT 10000 MATCH ", "KEYS "}) {
    EXPECT_TRUE(Ask(command + "page@front:*").starts_with("-NOTSERVED keys of an index on the fr"));
    EXPECT_TRUE(
        Ask(command + "page@many:*").starts_with("-NOTSERVED keys of an index that is not"));
  }
  EXPECT_TRUE(
      Ask("HGETALL page@many:text").starts_with("-NOTSERVED a key of an index that is not"));
  EXPECT_TRUE(Ask("HSET page@many:text u c").starts_with("-NOTSERVED a key of an index that is"));
  EXPECT_TRUE(Ask("HGETALL page:1:2").starts_with("-NOROW the key has not one value for each"));
  EXPECT_EQ("*2\r\n$12\r\npage@whole:a\r\n$12\r\npage@whole:b\r\n", Ask("KEYS page@whole:*"));
  EXPECT_EQ("*2\r\n$6\r\npage:1\r\n$6\r\npage:2\r\n", Ask("KEYS page:*"));
}

/// The cursor that a SCAN has answered.
std::string CursorIn(const std::string& reply) {
  const size_t begin = reply.find("\r\n", 4) + 2;
  return reply.substr(begin, reply.find("\r\n", begin) - begin);
}

TEST_F(RespTest, ThePatternIsComparedWithSoManyBytesOfKeysAtOnce) {
  constexpr size_t kKeys = 400;
  const std::string front(1000, 'a'), pattern = "*" + std::string(126, 'a') + "b";
  std::vector<engine::fake::Row> rows;
  for (size_t i = 0; i < kKeys; ++i)
    rows.push_back({"0", front + std::to_string(1000 + i), "v", std::nullopt});
  rows.push_back({"0", front + "b", "v", std::nullopt});
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}}, rows);
  EXPECT_EQ("-TOOLARGE the pattern and the keys are too long for KEYS: use SCAN\r\n",
            Ask("KEYS " + pattern));
  EXPECT_TRUE(Ask("KEYS *b").starts_with("*1\r\n")) << "a short pattern is compared with all keys";
  std::string cursor = "0", listed;
  size_t pages = 0;
  do {
    const std::string reply = Ask("SCAN " + cursor + " COUNT 10000 MATCH " + pattern);
    cursor = CursorIn(reply);
    listed += reply.substr(reply.find("\r\n*") + 2);
    ++pages;
  } while (cursor != "0" && pages < 9);
  EXPECT_EQ(2u, pages);
  EXPECT_EQ("*0\r\n*1\r\n$1001\r\n" + front + "b\r\n", listed);

  uint64_t steps = 0;
  EXPECT_FALSE(MatchesPattern(pattern, front + front, &steps));
  EXPECT_LT(200'000u, steps);
  EXPECT_LT(steps, 2 * 2000 * pattern.size());
}

TEST(RespScannedRowsTest, TheBytesOfTheCellsAreLimited) {
  RespScannedRows found(/*columns=*/2, /*bytes_max=*/10);
  EXPECT_TRUE(found.Cell("0123") && found.NullCell() && found.Cell("456789"));
  EXPECT_FALSE(found.is_full());
  EXPECT_FALSE(found.Cell("x"));
  EXPECT_TRUE(found.is_full());
  EXPECT_EQ(2u, found.rows().size());
}

}  // namespace
}  // namespace rowsocket::frontend
