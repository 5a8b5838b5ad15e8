// Logins with accounts of the server, from the socket through the login desk and back.
#include <gtest/gtest.h>

#include "exec/login_desk.h"
#include "exec/test_logins.h"
#include "exec/test_notification.h"
#include "frontend/handlersocket/exec_test/test_commits.h"
#include "test_port.h"

namespace rowsocket::exec {
namespace {

constexpr const char kLogin[] = "A\t1\tapp:secret:1\n";
constexpr const char kLoginBy2[] = "A\t2\tapp\tsecret:1\n";
constexpr const char kWrong[] = "A\t1\tapp:wrong\n";
constexpr const char kUnauth[] = "3\t1\tunauth";
constexpr const char kOk[] = "0\t1";

class LoginTest : public ::testing::Test {
 protected:
  LoginTest() {
    test_.frontend.accounts = true;
    test_.settings.login_desk = &desk_;
    EXPECT_TRUE(desk_.Start());
  }
  ~LoginTest() override {
    desk_.CloseLogins();
    test_.Stop();
    desk_.Stop();
    EXPECT_EQ(0, checker_.tickets);
  }
  LineClient Connect() {
    if (test_.port == nullptr) test_.Start();
    return test_.Connect();
  }

  Notification may_end_;  ///< For checks that wait.
  TestLogins checker_;
  LoginDesk desk_{checker_, 3};  // One address has two of them.
  TestPort test_;
};

TEST_F(LoginTest, RightPasswordLetsIn) {
  for (const char* const login : {kLogin, kLoginBy2}) {
    LineClient client = Connect();
    EXPECT_EQ(kUnauth, client.Ask(kOpenIdV));
    EXPECT_EQ(kOk, client.Ask(login));
    EXPECT_EQ(kOk, client.Ask(kOpenIdV));
    EXPECT_EQ(kRow1, client.Ask(kFind1));
  }
  EXPECT_EQ(2u, test_.Stat(Stat::kAuths));
  EXPECT_EQ(2u, test_.Stat(Stat::kAuthsTried));
}

TEST_F(LoginTest, WrongPasswordIsUnauthAndTheThirdEndsTheConnection) {
  LineClient client = Connect();
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_EQ(kUnauth, client.Ask("A\t2\tnobody\tx\n"));
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_EQ("(end)", client.ReadLine());
  EXPECT_EQ(3u, test_.Stat(Stat::kAuthsFailed));
}

TEST_F(LoginTest, AcceptedLoginForgivesFailures) {
  LineClient client = Connect();
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_EQ(kUnauth, client.Ask(kFind1));
  EXPECT_EQ(kOk, client.Ask(kLogin));
}

TEST_F(LoginTest, RequestsAfterALoginWaitForIt) {
  LineClient client = Connect();
  client.Send(std::string("x\n") + kLogin + kOpenIdV + kFind1 + kWrong + kFind1);
  for (const char* const line : {"2\t1\tcmd", kOk, kOk, kRow1, kUnauth, kUnauth})
    EXPECT_EQ(line, client.ReadLine());
}

TEST_F(LoginTest, LoginByteByByte) {
  LineClient client = Connect();
  for (const char byte : std::string(kLogin)) client.Send({&byte, 1});
  EXPECT_EQ(kOk, client.ReadLine());
}

TEST_F(LoginTest, SlowLoginDelaysNoOtherConnection) {
  checker_.on_check = [this](const engine::LoginAttempt& attempt) {
    if (attempt.password.view() == "slow") {
      EXPECT_TRUE(may_end_.Wait());
    }
  };
  LineClient slow = Connect();
  LineClient other = Connect();
  slow.Send("A\t2\tapp\tslow\n");
  EXPECT_EQ(kOk, other.Ask(kLogin));
  EXPECT_EQ(kOk, other.Ask(kOpenIdV));
  EXPECT_EQ(kRow1, other.Ask(kFind1));
  may_end_.Notify();
  EXPECT_EQ(kUnauth, slow.ReadLine());
}

TEST_F(LoginTest, ConnectionThatLeavesDuringItsLoginCountsNoMore) {
  checker_.on_check = [this](const engine::LoginAttempt&) { EXPECT_TRUE(may_end_.Wait()); };
  {
    LineClient client = Connect();
    client.Send(kLogin);
    EXPECT_TRUE(Eventually([this] { return checker_.checks == 1; }));
    client.Reset();
  }
  may_end_.Notify();
  EXPECT_TRUE(Eventually([this] { return test_.Stat(Stat::kConnections) == 0; }));
}

TEST_F(LoginTest, ALoginAfterAFindWaitsForTheCommitThatTheFindMayHaveSeen) {
  LineClient writer = Connect(), reader = Connect(), other = Connect();
  for (LineClient* const client : {&writer, &reader}) {
    EXPECT_EQ(kOk, client->Ask(kLogin));
    EXPECT_EQ(kOk, client->Ask(kOpenIdV));
  }
  HeldCommits held(test_.store);
  writer.Send(Add(1));
  ASSERT_TRUE(held.AwaitCommit());
  reader.Send(std::string(kFind1) + kLogin);
  // Logins are checked in the order in which they come: the reader's would have been before this.
  EXPECT_EQ(kOk, other.Ask(kLogin));
  EXPECT_EQ(3, checker_.checks);
  EXPECT_TRUE(net::NothingToRead(reader.fd()));
  held.LetGo();
  EXPECT_EQ(kRow1, reader.ReadLine());
  EXPECT_EQ(kOk, reader.ReadLine());
  EXPECT_EQ(4, checker_.checks);
}

/// The connection no longer belongs to the account, which may have a limited number of connections.
TEST_F(LoginTest, AConnectionThatLeavesItsAccountGivesTheTicketBack) {
  ASSERT_TRUE(test_.frontend.secret.Set("key:word"));
  LineClient client = Connect();
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(1, checker_.tickets);
  EXPECT_EQ(kOk, client.Ask("A\t1\tkey:word\n"));
  EXPECT_TRUE(Eventually([this] { return checker_.tickets == 0; }));
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(1, checker_.tickets);
  EXPECT_EQ(kUnauth, client.Ask(kWrong));
  EXPECT_TRUE(Eventually([this] { return checker_.tickets == 0; }));
}

TEST_F(LoginTest, SecretStandsBesideAccounts) {
  ASSERT_TRUE(test_.frontend.secret.Set("key:word"));
  LineClient client = Connect();
  EXPECT_EQ(kOk, client.Ask("A\t1\tkey:word\n"));
  EXPECT_EQ(0, checker_.checks);
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(kUnauth, client.Ask("A\t1\tkeyword\n"));
  EXPECT_EQ("3\t1\tauthtype", client.Ask("A\t3\tapp\tsecret:1\n"));
}

TEST_F(LoginTest, AConnectionThatLosesItsAuthorizationHasTheTimeOfALogin) {
  ASSERT_TRUE(test_.frontend.secret.Set("keyword"));
  test_.frontend.delays_refusals = true;
  test_.settings.limits.auth_timeout_s = 3;
  test_.settings.limits.idle_timeout_s = 0;
  LineClient in = Connect(), silent = Connect(), busy = Connect();
  for (LineClient* const client : {&in, &silent, &busy})
    EXPECT_EQ(kOk, client->Ask("A\t1\tkeyword\n"));
  for (LineClient* const client : {&silent, &busy})
    EXPECT_EQ(kUnauth, client->Ask("A\t1\twrong\n"));
  EXPECT_TRUE(Eventually([&busy] { return busy.Ask(kFind1) != kUnauth; }));
  EXPECT_EQ("(end)", silent.ReadLine());
  EXPECT_EQ(kOk, in.Ask(kOpenIdV));
  EXPECT_EQ(2u, test_.Stat(Stat::kConnectionsTimedOut));
}

TEST_F(LoginTest, NoAccountHasSuchAName) {
  for (const char* const line : {"A\t2\t\tsecret:1\n", "A\t1\t:x\n", "A\t2\ta\001Jb\tx\n"}) {
    LineClient client = Connect();
    EXPECT_EQ(kUnauth, client.Ask(line));
  }
  EXPECT_EQ(0, checker_.checks);
}

TEST_F(LoginTest, EndOfAnAccountEndsItsConnections) {
  LineClient client = Connect();
  LineClient other = Connect();
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(kOk, client.Ask(kOpenIdV));
  checker_.account->End();
  test_.port->AccountsHaveEnded();
  EXPECT_EQ(kUnauth, client.ReadLine());
  EXPECT_EQ("(end)", client.ReadLine());
  EXPECT_EQ(kUnauth, other.Ask(kOpenIdV));
  EXPECT_TRUE(Eventually([this] { return checker_.tickets == 0; }));
}

// The worker does not look at the connection while the lane has its request.
TEST_F(LoginTest, EndOfAnAccountEndsAConnectionThatWaitsForALockWhenItIsBack) {
  LineClient client = Connect();
  LineClient other = Connect();
  EXPECT_EQ(kOk, client.Ask(kLogin));
  EXPECT_EQ(kOk, client.Ask(kOpenIdV));
  auto held = test_.store.LockRow(kServedTable, {"2"});
  client.Send(Add(2) + kFind1);
  ASSERT_TRUE(test_.store.AwaitWaiting(1));
  checker_.account->End();
  test_.port->AccountsHaveEnded();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(kUnauth, other.Ask(kOpenIdV));
  EXPECT_TRUE(net::NothingToRead(client.fd()));
  held.reset();
  EXPECT_EQ("0\t1\t1", client.ReadLine());
  EXPECT_EQ(kUnauth, client.ReadLine());
  EXPECT_EQ("(end)", client.ReadLine());
}

TEST_F(LoginTest, WithoutAccountsType2IsUnknown) {
  test_.frontend.accounts = false;
  LineClient client = Connect();
  EXPECT_EQ("3\t1\tauthtype", client.Ask(kLoginBy2));
  EXPECT_EQ(kUnauth, client.Ask(kLogin));
  EXPECT_EQ(kOk, client.Ask(kOpenIdV));
}

}  // namespace
}  // namespace rowsocket::exec
