#include "protocol/handlersocket/token_line.h"

#include <gtest/gtest.h>

namespace rowsocket::handlersocket {
namespace {

TEST(TokenLine, BeginsWithTAndTab) {
  EXPECT_TRUE(IsTokenLine("T\tk\t1\t+\t1\ta"));
  EXPECT_TRUE(IsTokenLine("T\t"));
  EXPECT_FALSE(IsTokenLine("T"));
  EXPECT_FALSE(IsTokenLine("TT\tk"));
}

TEST(TokenLine, SplitsAfterTheToken) {
  const TokenLine line = SplitTokenLine("T\tk\t1\t+\t1\ta");
  EXPECT_EQ(line.token, "k");
  EXPECT_EQ(line.request, "1\t+\t1\ta");
}

TEST(TokenLine, MayLackTheRequestOrTheToken) {
  EXPECT_EQ(SplitTokenLine("T\tk").token, "k");
  EXPECT_EQ(SplitTokenLine("T\tk").request, "");
  EXPECT_EQ(SplitTokenLine("T\tk\t").request, "");
  EXPECT_EQ(SplitTokenLine("T\t").token, "");
  EXPECT_EQ(SplitTokenLine("T\t\t?").token, "");
  EXPECT_EQ(SplitTokenLine("T\t\t?").request, "?");
}

}  // namespace
}  // namespace rowsocket::handlersocket
