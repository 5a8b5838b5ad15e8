// One worker and real sockets: what clients see of order, of waits and of connections that end.
#include "exec/worker.h"

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::fake::Call;

std::string Insert(unsigned key) { return "0\t+\t2\t" + std::to_string(key) + "\tx\n"; }
std::string FindKey(unsigned key) { return "0\t=\t1\t" + std::to_string(key) + "\n"; }

class WorkerTest : public ::testing::Test {
 protected:
  TestPort server_;
};

TEST_F(WorkerTest, AnswersAPipelineInOrder) {
  server_.Start();
  LineClient client = server_.Connect();
  std::string pipeline = kOpenIdV;
  for (unsigned i = 100; i < 1100; ++i) pipeline += Insert(i) + FindKey(i) + "bad\n";
  client.Send(pipeline);
  EXPECT_EQ("0\t1", client.ReadLine());
  for (unsigned i = 100; i < 1100; ++i) {
    ASSERT_EQ("0\t1", client.ReadLine());
    ASSERT_EQ("0\t2\t" + std::to_string(i) + "\tx", client.ReadLine());
    ASSERT_EQ("2\t1\tcmd", client.ReadLine());
  }
  EXPECT_EQ(1003u, server_.store.RowCount(kServedTable));
  // At most kBatchRequestsAloneMax requests shared a commit, and many did.
  EXPECT_GE(server_.Stat(Stat::kCommits), 3000 / model::kBatchRequestsAloneMax);
  EXPECT_LT(server_.Stat(Stat::kCommits), 150u);
}

TEST_F(WorkerTest, RequestsMayComeByteByByte) {
  server_.Start();
  LineClient client = server_.Connect();
  const std::string requests = std::string(kOpenIdV) + FindKey(2) + "bad\r\n" + FindKey(1);
  for (const char byte : requests) client.Send({&byte, 1});
  for (const char* reply : {"0\t1", "0\t2\t2\t20", "2\t1\tcmd", "0\t2\t1\t10"}) {
    EXPECT_EQ(reply, client.ReadLine());
  }
}

TEST_F(WorkerTest, OpenAndAuthTakeEffectAfterEarlierRequests) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.Start();
  LineClient client = server_.Connect();
  client.Send("A\t1\tsecret\n" + std::string(kOpenIdV) + FindKey(1) + "P\t0\ttest\tt\t\tv\n" +
              FindKey(1) + "A\t1\twrong\n" + FindKey(1) + "A\t1\tsecret\n" + FindKey(1) +
              "P\t0\ttest\tnone\t\t\n" + FindKey(1));
  for (const char* reply : {"0\t1", "0\t1", "0\t2\t1\t10", "0\t1", "0\t1\t10", "3\t1\tunauth",
                            "3\t1\tunauth", "0\t1", "0\t1\t10", "1\t1\topen_table", "0\t1\t10"}) {
    EXPECT_EQ(reply, client.ReadLine());
  }
}

TEST_F(WorkerTest, HeldRowDelaysItsConnectionOnly) {
  server_.Start();
  LineClient blocked = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  blocked.Send(FindKey(1) + "0\t=\t1\t2\t1\t0\tU\t2\t21\n" + FindKey(2) + "P\t0\ttest\tt\t\tv\n" +
               FindKey(3) + "bad\n");
  EXPECT_EQ("0\t2\t1\t10", blocked.ReadLine());
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ("0\t2\t2\t20", other.Ask(FindKey(2)));
  EXPECT_TRUE(net::NothingToRead(blocked.fd()));
  held.reset();
  for (const char* reply : {"0\t1\t1", "0\t2\t2\t21", "0\t1", "0\t1\t30", "2\t1\tcmd"}) {
    EXPECT_EQ(reply, blocked.ReadLine());
  }
  EXPECT_EQ(1u, server_.Stat(Stat::kLockWaits));
  EXPECT_EQ(1u, server_.Stat(Stat::kUpdates));
  EXPECT_EQ(1u, server_.Stat(Stat::kRowsWritten));
}

TEST_F(WorkerTest, SeveralHeldRowsOfOneConnectionAreWaitedForInOrder) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  auto one = server_.store.LockRow(kServedTable, {"1"});
  auto two = server_.store.LockRow(kServedTable, {"2"});
  client.Send("0\t=\t1\t2\t1\t0\tU\t2\t1\n0\t=\t1\t1\t1\t0\tU\t1\t2\n" + FindKey(1));
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  one.reset();
  EXPECT_TRUE(net::NothingToRead(client.fd()));
  EXPECT_EQ("1,10;2,20;3,30;", server_.store.Dump(kServedTable));
  two.reset();
  for (const char* reply : {"0\t1\t1", "0\t1\t1", "0\t2\t1\t2"}) {
    EXPECT_EQ(reply, client.ReadLine());
  }
}

TEST_F(WorkerTest, LockWaitTimeoutIsAnsweredAndTheConnectionGoesOn) {
  server_.store.SetLockWaitMs(5);
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  const auto held = server_.store.LockRow(kServedTable, {"2"});
  client.Send("0\t=\t1\t2\t1\t0\tD\n" + FindKey(2));
  EXPECT_EQ("1\t1\t146", client.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", client.ReadLine());
}

TEST_F(WorkerTest, HeldTableDelaysClientsThatOpenOrUseIt) {
  server_.Start();
  LineClient user = server_.ConnectAndOpen();
  LineClient opener = server_.Connect();
  LineClient other = server_.Connect();
  auto held = server_.store.LockTable(kServedTable);
  user.Send(FindKey(1));
  opener.Send(std::string(kOpenIdV) + FindKey(2));
  ASSERT_TRUE(server_.store.AwaitWaiting(2));
  EXPECT_EQ("1\t1\topen_table", other.Ask("P\t0\ttest\tnone\t\t\n"));
  held.reset();
  EXPECT_EQ("0\t2\t1\t10", user.ReadLine());
  EXPECT_EQ("0\t1", opener.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", opener.ReadLine());
  EXPECT_EQ(0u, server_.Stat(Stat::kErrorsFirst));
  EXPECT_EQ(3u, server_.Stat(Stat::kOpens));
}

TEST_F(WorkerTest, OpenOfAHeldTableMayFailInTheEnd) {
  server_.store.SetLockWaitMs(5);
  server_.Start();
  LineClient client = server_.Connect();
  const auto held = server_.store.LockTable(kServedTable);
  client.Send(std::string(kOpenIdV) + FindKey(2));
  EXPECT_EQ("1\t1\t146", client.ReadLine());
  EXPECT_EQ("2\t1\tstmtnum", client.ReadLine());
}

TEST_F(WorkerTest, HalfClosedConnectionIsAnsweredAndThenClosed) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  std::string pipeline;
  for (unsigned i = 0; i < 500; ++i) pipeline += FindKey(1);
  client.Send(pipeline + "0\t=\t1\t2");  // The last line has no end, so that it is no request.
  client.HalfClose();
  for (unsigned i = 0; i < 500; ++i) ASSERT_EQ("0\t2\t1\t10", client.ReadLine());
  EXPECT_EQ("(end)", client.ReadLine());
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 0; }));
}

TEST_F(WorkerTest, HalfClosedConnectionThatWaitsForALockIsAnswered) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  client.Send("0\t=\t1\t2\t1\t0\tU\t2\t21\n" + FindKey(2));
  client.HalfClose();
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  held.reset();
  EXPECT_EQ("0\t1\t1", client.ReadLine());
  EXPECT_EQ("0\t2\t2\t21", client.ReadLine());
  EXPECT_EQ("(end)", client.ReadLine());
}

TEST_F(WorkerTest, ClientMayVanishWhileItWaitsForALock) {
  server_.Start();
  LineClient other = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  {
    LineClient client = server_.ConnectAndOpen();
    client.Send("0\t=\t1\t2\t1\t0\tU\t2\t21\n");
    ASSERT_TRUE(server_.store.AwaitWaiting(1));
    client.Reset();
  }
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 1; }));
  held.reset();
  // The request of the vanished client was under way, and is done.
  EXPECT_TRUE(Eventually([this] { return server_.store.Dump(kServedTable) == "1,10;2,21;3,30;"; }));
  EXPECT_EQ("0\t2\t2\t21", other.Ask(FindKey(2)));
}

// If ended clients stayed in the queue, clients that come, ask and leave would fill it.
TEST_F(WorkerTest, ClientThatVanishesLeavesTheQueueOfTheLane) {
  server_.Start();
  LineClient other = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  std::vector<LineClient> clients;
  for (unsigned i = 0; i < 9; ++i) {
    clients.push_back(server_.ConnectAndOpen());
    clients.back().Send("0\t=\t1\t2\t1\t0\tU\t2\tv" + std::to_string(i) + "\n");
    // Each request is in the lane before the next one comes.
    ASSERT_TRUE(Eventually([&] { return server_.Stat(Stat::kLockWaits) == i + 1; }));
    EXPECT_EQ("0\t2\t1\t10", other.Ask(FindKey(1)));
    // The first request comes alone: a thread takes up all requests that have come by the time it
    // has started.
    ASSERT_TRUE(server_.store.AwaitWaiting(1));
  }
  while (clients.size() > 4) {
    clients.back().Reset();
    clients.pop_back();
  }
  ASSERT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 1 + clients.size(); }));
  held.reset();
  for (LineClient& client : clients) EXPECT_EQ("0\t1\t1", client.ReadLine());
  EXPECT_EQ("0\t2\t2\tv3", other.Ask(FindKey(2)));
  EXPECT_EQ(clients.size(), server_.Stat(Stat::kRowsWritten));
}

// One transaction holds the row for a while. All requests that have come for the row by then are
// served together, and later requests go through batches again.
TEST_F(WorkerTest, RowThatWasLockedDoesNotStayWithTheLane) {
  server_.Start();
  std::vector<LineClient> clients;
  for (unsigned i = 0; i < 20; ++i) clients.push_back(server_.ConnectAndOpen());
  auto held = server_.store.LockRow(kServedTable, {"2"});
  for (LineClient& client : clients) client.Send("0\t=\t1\t2\t1\t0\tU\t2\tv\n");
  ASSERT_TRUE(Eventually([&] { return server_.Stat(Stat::kLockWaits) == clients.size(); }));
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  held.reset();
  for (LineClient& client : clients) EXPECT_EQ("0\t1\t1", client.ReadLine());
  EXPECT_LE(server_.Stat(Stat::kCommits), clients.size() / 2);
  const uint64_t waits = server_.Stat(Stat::kLockWaits);
  for (LineClient& client : clients) {
    EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t2\t1\t0\tU\t2\tw\n"));
  }
  EXPECT_EQ(waits, server_.Stat(Stat::kLockWaits));
}

// The worker learns of both in one round of its loop: another request keeps it meanwhile.
TEST_F(WorkerTest, ClientMayVanishWhenItsLockWaitEnds) {
  server_.Start();
  LineClient other = server_.ConnectAndOpen();
  LineClient client = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  client.Send("0\t=\t1\t2\t1\t0\tU\t2\t21\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  auto delay = server_.store.DelayRow(kServedTable, {"3"});
  other.Send(FindKey(3));
  ASSERT_TRUE(server_.store.AwaitWaiting(2));
  client.Reset();
  held.reset();
  ASSERT_TRUE(Eventually([this] { return server_.store.Dump(kServedTable) == "1,10;2,21;3,30;"; }));
  server_.lane.Stop();  // After its commit the job only has to go back to its worker.
  delay.reset();
  EXPECT_EQ("0\t2\t3\t30", other.ReadLine());
  EXPECT_EQ("0\t2\t2\t21", other.Ask(FindKey(2)));
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 1; }));
}

TEST_F(WorkerTest, DeepPipelineLeavesRoomForOthers) {
  server_.Start();
  LineClient deep = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  auto delay = server_.store.DelayRow(kServedTable, {"3"});
  std::string pipeline = FindKey(3);
  for (unsigned i = 0; i < 5000; ++i) pipeline += FindKey(1);
  deep.Send(pipeline);
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  const auto place = std::make_shared<std::atomic<uint64_t>>(0);
  server_.store.SetHook([place](const Call& call) {
    const bool is_other =
        call.kind == Call::Kind::kExecute && engine::fake::FirstValue(*call.request) == "2";
    if (is_other) *place = call.number;
    return engine::Outcome();
  });
  other.Send(FindKey(2));
  delay.reset();
  EXPECT_EQ("0\t2\t2\t20", other.ReadLine());
  // The reader's place is after the rest of the turn under way, and what the next turn has taken
  // before it.
  EXPECT_LE(*place, 2 * model::kTurnRequestsPerConnectionMax);
  for (unsigned i = 0; i < 5001; ++i) ASSERT_NE("(end)", deep.ReadLine());
}

// The requests are more than fit into one turn, and come all at once.
TEST_F(WorkerTest, TurnThatIsFullLeavesTheRestForTheNext) {
  server_.Start();
  LineClient first = server_.ConnectAndOpen();
  std::vector<LineClient> clients;
  constexpr unsigned kClients = 2 * model::kTurnRequestsMax / model::kTurnRequestsPerConnectionMax;
  for (unsigned i = 0; i < kClients; ++i) clients.push_back(server_.ConnectAndOpen());
  auto delay = server_.store.DelayRow(kServedTable, {"3"});
  first.Send(FindKey(3));
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  std::string pipeline;
  for (unsigned i = 0; i < 2 * model::kTurnRequestsPerConnectionMax; ++i) pipeline += FindKey(1);
  for (LineClient& client : clients) client.Send(pipeline);
  delay.reset();
  EXPECT_EQ("0\t2\t3\t30", first.ReadLine());
  for (LineClient& client : clients) {
    for (unsigned i = 0; i < 2 * model::kTurnRequestsPerConnectionMax; ++i) {
      ASSERT_EQ("0\t2\t1\t10", client.ReadLine());
    }
  }
}

TEST_F(WorkerTest, FailedCommitIsAnsweredAndConnectionsStay) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  server_.store.SetHook(engine::fake::FailCommits(1, model::Error::Engine(5)));
  client.Send(Insert(4) + FindKey(4));
  EXPECT_EQ("1\t1\t5", client.ReadLine());
  const std::string find = client.ReadLine();  // The find may be in the same turn, or in the next.
  EXPECT_TRUE(find == "1\t1\t5" || find == "0\t2") << find;
  EXPECT_EQ("0\t1", client.Ask(Insert(4)));
}

}  // namespace
}  // namespace rowsocket::exec
