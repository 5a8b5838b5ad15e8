// What SCAN and KEYS look at, and where they stop.
#include "frontend/resp/scan.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ("*2\r\n$12\r\npage@whole:a\r\n$12\r\npage@whole:b\r\n", Ask("KEYS page@whole:*"));
  EXPECT_EQ("*2\r\n$6\r\npage:1\r\n$6\r\npage:2\r\n", Ask("KEYS page:*"));
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
