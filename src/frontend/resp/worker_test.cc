// Connections of RESP on a port with workers: how a turn, the wait lane and the login desk treat
// them together.
#include <gtest/gtest.h>

#include <chrono>

#include "exec/login_desk.h"
#include "exec/test_logins.h"
#include "exec/test_port.h"
#include "frontend/resp/frontend.h"

namespace rowsocket::frontend {
namespace {

using exec::Eventually;
using exec::LineClient;
using exec::Stat;

class RespWorkerTest : public ::testing::Test {
 protected:
  RespWorkerTest() {
    test_.store.CreateTable({"shop.t", {"id", "v"}, {{"PRIMARY", {0}}}},
                            {{"1", "10"}, {"2", "20"}});
    resp_.schema = "shop";
    resp_.info = &info_;
    resp_.clients = &clients_;
    resp_.cursors = &cursors_;
    resp_.scripts = &scripts_;
    test_.make_frontend = [this] { return std::make_unique<RespFrontend>(resp_); };
    test_.settings.hot_rows = &hot_rows_;
    test_.settings.usage = &usage_;
    test_.settings.slow_log = &slow_;
    test_.settings.login_desk = &desk_;
    EXPECT_TRUE(desk_.Start());
  }
  ~RespWorkerTest() override {
    desk_.CloseLogins();
    test_.Stop();
    desk_.Stop();
    EXPECT_EQ(0, checker_.tickets);
  }
  LineClient Connect() {
    if (test_.port == nullptr) test_.Start();
    return test_.Connect();
  }
  /// What all connections hold, as ROWSOCKET_CONNECTIONS shows it.
  uint64_t BufferedBytes() {
    const auto list = std::make_shared<exec::ConnectionList>(test_.settings.workers);
    test_.port->List(list);
    uint64_t bytes = 0;
    for (const exec::ConnectionInfo& each : list->Await(std::chrono::seconds(20)))
      bytes += each.buffered_bytes;
    return bytes;
  }

  exec::HotRows hot_rows_;
  exec::Usage usage_;
  exec::SlowLog slow_{"resp", [](uint32_t) { return std::string_view("verb"); },
                      [] { return true; }};
  RespInfo info_;
  RespClients clients_;
  RespCursors cursors_;
  RespScripts scripts_;
  RespShared resp_;
  exec::TestLogins checker_;
  exec::LoginDesk desk_{checker_, 2};
  exec::PortOnFake test_;
};

/// A transaction that is refused because of its WATCH needs no lock.
TEST_F(RespWorkerTest, ATransactionAfterAFailedWatchWaitsForNoRow) {
  LineClient client = Connect();
  EXPECT_EQ(":21\r", client.Ask("HINCRBY t:2 v 1\r\n"));
  auto locked = test_.store.LockRow("shop.t", {"1"});
  client.Send("WATCH t:1:2\r\nMULTI\r\nHINCRBY t:1 v 1\r\nEXEC\r\n");
  EXPECT_EQ('-', client.ReadLine().front());
  for (const char* const line : {"+OK\r", "+QUEUED\r"}) EXPECT_EQ(line, client.ReadLine());
  EXPECT_EQ("-EXECABORT nothing was done: a WATCH before it has failed\r", client.ReadLine());
  EXPECT_EQ(0u, test_.Stat(Stat::kLockWaits));
  locked.reset();
  EXPECT_EQ(":11\r", client.Ask("HINCRBY t:1 v 1\r\n"));
}

/// Counting by table, row and time uses the indexes of the turn's items, which a parse for the lane
/// may give back.
TEST_F(RespWorkerTest, ManyShapesOfCommandsAreCountedBesideALockWait) {
  LineClient client = Connect();
  EXPECT_EQ(":21\r", client.Ask("HINCRBY t:2 v 1\r\n"));
  test_.store.SetSlow(0);
  constexpr int kFields = 400;
  std::string gets;
  for (int i = 0; i < kFields; ++i) gets += "HGET t:1 x" + std::to_string(i) + "\r\n";
  for (int round = 0; round < 3; ++round) {
    auto locked = test_.store.LockRow("shop.t", {"2"});
    client.Send(gets + "HSET t:2 v 1\r\n");
    const auto waits = static_cast<uint64_t>(round) + 1;
    EXPECT_TRUE(Eventually([&] { return test_.Stat(Stat::kLockWaits) >= waits; }));
    locked.reset();
    for (int i = 0; i < kFields; ++i) ASSERT_EQ("$-1\r", client.ReadLine());
    EXPECT_EQ(":0\r", client.ReadLine());
  }
}

TEST_F(RespWorkerTest, CommandsAfterMultiCountAsMemoryOfConnections) {
  test_.settings.limits.memory_bytes_max = size_t{1} << 20;
  constexpr size_t kBytes = 90'000;
  const std::string set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$90000\r\n" + std::string(kBytes, 'x');
  std::vector<LineClient> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(Connect());
    EXPECT_EQ("+OK\r", clients.back().Ask("MULTI\r\n"));
    send(clients.back().fd(), (set + "\r\n").data(), set.size() + 2, MSG_NOSIGNAL);
    clients.back().ReadLine();
  }
  EXPECT_TRUE(Eventually([this] { return test_.Stat(Stat::kConnectionsLost) > 0; }));
  EXPECT_EQ("+PONG\r", Connect().Ask("PING\r\n"));
}

/// In the lane a transaction takes much more memory than its client has sent for it.
TEST_F(RespWorkerTest, TransactionsThatWaitForALockCountAsMemoryOfConnections) {
  test_.settings.limits.memory_bytes_max = size_t{1} << 20;
  test_.settings.workers = 1;
  constexpr size_t kClients = 20, kCommands = 200;
  std::string multi = "HINCRBY t:2 v 1\r\nMULTI\r\n";
  for (size_t i = 0; i < kCommands; ++i) multi += "HINCRBY t:1 v 1\r\n";
  LineClient other = Connect();
  auto locked = test_.store.LockRow("shop.t", {"1"});
  std::vector<LineClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(Connect());
    clients.back().Send(multi + "EXEC\r\n");
  }
  ASSERT_TRUE(Eventually([this] {
    return test_.Stat(Stat::kLockWaits) + test_.Stat(Stat::kConnectionsLost) == kClients;
  }));
  const uint64_t waiting = test_.Stat(Stat::kLockWaits);
  EXPECT_LT(0u, waiting);
  EXPECT_GT(kClients, waiting);
  const std::vector<std::string> log = test_.TakeLog();
  ASSERT_EQ(1u, log.size());
  EXPECT_NE(std::string::npos, log[0].find(test_.settings.memory_variable));
  EXPECT_EQ("$2\r", other.Ask("HGET t:2 v\r\n"));
  EXPECT_EQ(std::to_string(20 + kClients) + "\r", other.ReadLine());
  const uint64_t bytes = BufferedBytes();
  EXPECT_LT(waiting * kCommands * sizeof(exec::Item), bytes);
  EXPECT_GE(test_.settings.limits.memory_bytes_max + (size_t{64} << 10), bytes);
  locked.reset();
  uint64_t answered = 0;
  for (LineClient& client : clients) {
    EXPECT_EQ(':', client.ReadLine()[0]) << "those that are closed get it, too";
    if (client.ReadLine() != "+OK\r") continue;
    for (size_t i = 0; i < kCommands; ++i) EXPECT_EQ("+QUEUED\r", client.ReadLine());
    EXPECT_EQ("*200\r", client.ReadLine());
    for (size_t i = 0; i < kCommands; ++i) EXPECT_EQ(':', client.ReadLine()[0]);
    ++answered;
  }
  EXPECT_EQ(waiting, answered);
  const std::string value = std::to_string(10 + answered * kCommands);
  other.Ask("HGET t:1 v\r\n");
  EXPECT_EQ(value + "\r", other.ReadLine());
  EXPECT_TRUE(Eventually([&] { return BufferedBytes() < bytes / 2; }));
}

/// A failed login ends no login before it, in Redis and here: the connection still counts as one of
/// its account's, and ends with it.
TEST_F(RespWorkerTest, AFailedLoginKeepsTheTicketOfTheOneBefore) {
  resp_.accounts = true;
  LineClient client = Connect();
  EXPECT_EQ("+OK\r", client.Ask("AUTH app secret:1\r\n"));
  EXPECT_EQ('-', client.Ask("AUTH app wrong\r\n").front());
  EXPECT_EQ("$2\r", client.Ask("HGET t:1 v\r\n"));
  EXPECT_EQ("10\r", client.ReadLine());
  EXPECT_EQ(1, checker_.tickets);
  checker_.account->End();
  test_.port->AccountsHaveEnded();
  EXPECT_EQ('-', client.ReadLine().front());
  EXPECT_EQ("(end)", client.ReadLine());
}

TEST_F(RespWorkerTest, ResetGivesTheTicketBackAndBeginsTheTimeToAuthenticateAgain) {
  resp_.accounts = true;
  test_.settings.limits.auth_timeout_s = 1;
  LineClient client = Connect();
  EXPECT_EQ("+OK\r", client.Ask("AUTH app secret:1\r\n"));
  EXPECT_EQ("+RESET\r", client.Ask("RESET\r\n"));
  EXPECT_TRUE(Eventually([this] { return checker_.tickets == 0; }));
  EXPECT_EQ('-', client.Ask("HGET t:1 v\r\n").front());
  EXPECT_EQ("(end)", client.ReadLine());
  EXPECT_EQ(1u, test_.Stat(Stat::kConnectionsTimedOut));
}

}  // namespace
}  // namespace rowsocket::frontend
