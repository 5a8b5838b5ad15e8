// What a client is told of errors that a command has in its own way.
#include "frontend/resp/error_text.h"

#include <gtest/gtest.h>

#include <string>

namespace rowsocket::frontend {
namespace {

TEST(RespGrantTest, TheGrantHasTheNamesAsSqlQuotesThem) {
  const model::Account account("o'x", "127.%");
  EXPECT_EQ("GRANT SELECT, UPDATE ON `a``b`.`t.u` TO 'o''x'@'127.%'",
            RespGrant("SELECT, UPDATE", "a`b", "t.u", account));
}

}  // namespace
}  // namespace rowsocket::frontend
