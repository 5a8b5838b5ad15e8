// What monitoring tools may do over a connection that has an account.
#include <gtest/gtest.h>

#include <memory>

#include "frontend/resp/resp_fixture.h"

namespace rowsocket::frontend {
namespace {

TEST_F(RespTest, AnAccountDoesNotClearTheSlowRequestsThatOthersLookAt) {
  EXPECT_EQ("+OK\r\n", Ask("SLOWLOG RESET"));
  shared_.account = std::make_shared<model::Account>("app", "%");
  frontend_.emplace(shared_);
  EXPECT_EQ(
      "-NOPERM SLOWLOG RESET is for connections with all rights: this one has an account's "
      "(resp_accounts, resp_user)\r\n",
      Ask("SLOWLOG RESET"));
  EXPECT_EQ(":0\r\n", Ask("SLOWLOG LEN"));
}

}  // namespace
}  // namespace rowsocket::frontend
