// Finds during commits: which are answered at once, and which wait until rows that they may have
// seen are durable (CommitBoard, as used by a worker).
#include <array>
#include <atomic>
#include <new>

#include "frontend/handlersocket/exec_test/test_commits.h"
#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

constexpr const char kFind2[] = "0\t=\t1\t2\n";

/// Holds the lane, which executes nothing until it is released, and the commits of all other
/// sessions that have written.
struct LaneAndCommits {
  Outcome OnCall(const Call& call) {
    const bool is_lanes = call.lock_wait == engine::LockWait::kServer;
    if (call.kind == Call::Kind::kExecute && is_lanes) lane_goes_on.Wait();
    if (call.kind == Call::Kind::kExecute && call.request->is_write()) has_written = true;
    if (call.kind != Call::Kind::kCommit || is_lanes || !has_written.exchange(false)) return {};
    const size_t number = commits++;
    arrived[number].Notify();
    released[number].Wait();
    return {};
  }

  Notification lane_goes_on;
  std::array<Notification, 2> arrived, released;
  std::atomic<bool> has_written{false};
  std::atomic<size_t> commits{0};
};

class WorkerFindsTest : public ::testing::Test {
 protected:
  /// Checks that the reader gets no answer, while the worker goes on with other connections.
  void ExpectWaiting(const LineClient& reader) {
    for (int i = 0; i < 5; ++i) {
      LineClient other = server_.ConnectAndOpen();
      EXPECT_EQ("0\t2\t1\t10", other.Ask(kFind1));
    }
    EXPECT_TRUE(net::NothingToRead(reader.fd()));
  }
  /// The answers to kFind2, made before the change, and to Add(2).
  static void ExpectAnswers(LineClient& reader, LineClient& writer) {
    EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
    EXPECT_EQ("0\t1\t1", writer.ReadLine());
  }

  TestPort server_;
};

TEST_F(WorkerFindsTest, FindsAreAnsweredWhileABatchIsCommitted) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  writer.Send(Add(2));
  ASSERT_TRUE(held.AwaitCommit());
  for (int i = 0; i < 5; ++i) EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  EXPECT_TRUE(net::NothingToRead(writer.fd()));
  held.LetGo();
  EXPECT_EQ("0\t1\t1", writer.ReadLine());
}

// The find may have seen the change already, and the power may fail before the change is durable.
TEST_F(WorkerFindsTest, FindOfARowInTheCommitUnderWayIsAnsweredWhenTheCommitIsDurable) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  writer.Send(Add(2));
  ASSERT_TRUE(held.AwaitCommit());
  reader.Send(kFind2);
  other.Send("0\t>=\t1\t3\n");
  ExpectWaiting(reader);
  reader.Send(kFind1);
  ExpectWaiting(reader);
  EXPECT_TRUE(net::NothingToRead(other.fd()));
  held.LetGo();
  EXPECT_EQ("0\t1\t1", writer.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
  EXPECT_EQ("0\t2\t1\t10", reader.ReadLine());
  EXPECT_EQ("0\t2\t3\t30", other.ReadLine());
  EXPECT_EQ("0\t2\t2\t21", reader.Ask(kFind2));
}

// The workers of all ports know of each other's commits.
TEST_F(WorkerFindsTest, FindOnAnotherPortWaitsForTheCommitUnderWayToo) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  TestPort::AnotherPort reads(server_, /*writes=*/false);
  LineClient reader = reads.Connect();
  EXPECT_EQ("0\t1", reader.Ask(kOpenIdV));
  HeldCommits held(server_.store);
  writer.Send(Add(2));
  ASSERT_TRUE(held.AwaitCommit());
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  reader.Send(kFind2);
  LineClient other = reads.Connect();
  EXPECT_EQ("2\t1\tcmd", other.Ask("?\n"));
  EXPECT_TRUE(net::NothingToRead(reader.fd()));
  held.LetGo();
  ExpectAnswers(reader, writer);
}

TEST_F(WorkerFindsTest, FindWaitsForACommitOfTheLaneToo) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  auto locked = server_.store.LockRow(kServedTable, {"2"});
  writer.Send(Add(2));
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kLockWaits) == 1; }));
  Notification arrived, released;
  server_.store.SetHook([&](const Call& call) {
    const bool is_lanes = call.lock_wait == engine::LockWait::kServer;
    if (call.kind != Call::Kind::kCommit || !is_lanes) return Outcome();
    arrived.Notify();
    released.Wait();
    return Outcome();
  });
  locked.reset();
  ASSERT_TRUE(arrived.Wait());
  reader.Send(kFind2);
  ExpectWaiting(reader);
  released.Notify();
  ExpectAnswers(reader, writer);
  server_.Stop();
}

TEST_F(WorkerFindsTest, FindOfTheLaneWaitsForTheCommitUnderWayToo) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  LaneAndCommits held;
  server_.store.SetHook([&held](const Call& call) { return held.OnCall(call); });
  auto locked = server_.store.LockTable(kServedTable);
  reader.Send(kFind2);
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kLockWaits) == 1; }));
  locked.reset();
  writer.Send(Add(2));
  ASSERT_TRUE(held.arrived[0].Wait());
  held.lane_goes_on.Notify();
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kFinds) == 1; }));
  ExpectWaiting(reader);
  held.released[0].Notify();
  ExpectAnswers(reader, writer);
  server_.Stop();
}

// The connection is in the lane with one find while its find before waits for a commit.
TEST_F(WorkerFindsTest, ConnectionMayWaitForTwoCommits) {
  server_.store.CreateTable({"test.u", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"2", "20"}});
  server_.Start();
  TestPort::AnotherPort writes(server_, /*writes=*/true);
  LineClient first = server_.ConnectAndOpen(), second = writes.Connect();
  LineClient reader = server_.ConnectAndOpen();
  for (LineClient* each : {&second, &reader}) {
    EXPECT_EQ("0\t1", each->Ask("P\t1\ttest\tu\t\tid,v\n"));
  }
  LaneAndCommits held;
  server_.store.SetHook([&held](const Call& call) { return held.OnCall(call); });
  first.Send(Add(2));
  ASSERT_TRUE(held.arrived[0].Wait());
  auto locked = server_.store.LockTable("test.u");
  reader.Send("0\t=\t1\t2\n1\t=\t1\t2\n");
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kLockWaits) == 1; }));
  locked.reset();
  second.Send("1\t=\t1\t2\t1\t0\t+\t0\t1\n");
  ASSERT_TRUE(held.arrived[1].Wait());
  held.lane_goes_on.Notify();
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kFinds) == 2; }));
  ExpectWaiting(reader);
  held.released[0].Notify();
  EXPECT_EQ("0\t1\t1", first.ReadLine());
  ExpectWaiting(reader);
  held.released[1].Notify();
  EXPECT_EQ("0\t1\t1", second.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
  EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  server_.Stop();
}

// The connection waits for a commit and has a request in the lane as well: the loop reports only
// once what the client sends meanwhile.
TEST_F(WorkerFindsTest, InputThatComesDuringBothWaitsIsReceived) {
  for (const bool hangs_up : {false, true}) {
    TestPort server;
    server.store.CreateTable({"test.u", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"2", "20"}});
    server.Start();
    LineClient writer = server.ConnectAndOpen(), reader = server.ConnectAndOpen();
    EXPECT_EQ("0\t1", reader.Ask("P\t1\ttest\tu\t\tid,v\n"));
    LaneAndCommits held;
    server.store.SetHook([&held](const Call& call) { return held.OnCall(call); });
    writer.Send(Add(2));
    ASSERT_TRUE(held.arrived[0].Wait());
    auto locked = server.store.LockTable("test.u");
    reader.Send("0\t=\t1\t2\n1\t=\t1\t2\n");
    ASSERT_TRUE(Eventually([&] { return server.Stat(Stat::kLockWaits) == 1; }));
    if (hangs_up)
      reader.HalfClose();
    else
      reader.Send(kFind1);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(kRow1, server.ConnectAndOpen().Ask(kFind1));
    locked.reset();
    held.lane_goes_on.Notify();
    ASSERT_TRUE(Eventually([&] { return server.Stat(Stat::kFinds) == 7; }));
    held.released[0].Notify();
    EXPECT_EQ("0\t1\t1", writer.ReadLine());
    EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
    EXPECT_EQ("0\t2\t2\t20", reader.ReadLine());
    EXPECT_EQ(hangs_up ? "(end)" : kRow1, reader.ReadLine());
    server.Stop();
  }
}

TEST_F(WorkerFindsTest, ConnectionThatIsLostInTheLaneWaitsForNoCommit) {
  server_.store.CreateTable({"test.u", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"2", "20"}});
  server_.Start();
  LineClient writer = server_.ConnectAndOpen(), reader = server_.ConnectAndOpen();
  EXPECT_EQ("0\t1", reader.Ask("P\t1\ttest\tu\t\tid,v\n"));
  LaneAndCommits held;
  server_.store.SetHook([&held](const Call& call) {
    const Outcome outcome = held.OnCall(call);
    const bool is_lanes = call.lock_wait == engine::LockWait::kServer;
    if (call.kind == Call::Kind::kExecute && is_lanes) throw std::bad_alloc();
    return outcome;
  });
  writer.Send(Add(2));
  ASSERT_TRUE(held.arrived[0].Wait());
  auto locked = server_.store.LockTable("test.u");
  reader.Send("0\t=\t1\t2\n1\t=\t1\t2\n");
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kLockWaits) == 1; }));
  locked.reset();
  held.lane_goes_on.Notify();
  EXPECT_EQ("(end)", reader.ReadLine());
  held.released[0].Notify();
  EXPECT_EQ("0\t1\t1", writer.ReadLine());
  server_.Stop();
}

// The commit is another port's, and may take longer than the port under test lives.
TEST_F(WorkerFindsTest, PortStopsWhileAFindWaitsForACommit) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  auto reads = std::make_unique<TestPort::AnotherPort>(server_, /*writes=*/false);
  LineClient reader = reads->Connect();
  EXPECT_EQ("0\t1", reader.Ask(kOpenIdV));
  HeldCommits held(server_.store);
  writer.Send(Add(2));
  ASSERT_TRUE(held.AwaitCommit());
  reader.Send(kFind2);
  LineClient other = reads->Connect();
  EXPECT_EQ("2\t1\tcmd", other.Ask("?\n"));
  reads.reset();
  EXPECT_EQ("(end)", reader.ReadLine());
  held.LetGo();
  EXPECT_EQ("0\t1\t1", writer.ReadLine());
}

TEST_F(WorkerFindsTest, FindOfARowThatTheCommitUnderWayMovesThereWaitsToo) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  writer.Send("0\t=\t1\t2\t1\t0\tU\t7\tx\n");
  ASSERT_TRUE(held.AwaitCommit());
  reader.Send("0\t=\t1\t7\n");
  LineClient other = server_.Connect();
  EXPECT_EQ("2\t1\tcmd", other.Ask("?\n"));
  EXPECT_TRUE(net::NothingToRead(reader.fd()));
  held.LetGo();
  EXPECT_EQ("0\t1\t1", writer.ReadLine());
  EXPECT_EQ("0\t2", reader.ReadLine());
  EXPECT_EQ("0\t2\t7\tx", reader.Ask("0\t=\t1\t7\n"));
}

}  // namespace
}  // namespace rowsocket::exec
