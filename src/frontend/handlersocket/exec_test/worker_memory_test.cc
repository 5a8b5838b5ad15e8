// If memory runs out, the connection that wanted it is closed, and nothing else happens.
#include <atomic>
#include <new>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::LockWait;
using engine::Outcome;
using engine::fake::Call;

class WorkerMemoryTest : public ::testing::Test {
 protected:
  static std::string Change(int id, int value) {
    return "0\t=\t1\t" + std::to_string(id) + "\t1\t0\tU\t" + std::to_string(id) + "\t" +
           std::to_string(value) + "\n";
  }
  /// Makes calls of this kind run out of memory, in sessions with this lock wait; of requests only
  /// those for row 2.
  void Exhaust(Call::Kind kind, LockWait lock_wait = LockWait::kNever) {
    server_.store.SetHook([kind, lock_wait](const Call& call) {
      const bool is_other =
          call.request != nullptr && engine::fake::FirstValue(*call.request) != "2";
      if (call.kind == kind && call.lock_wait == lock_wait && !is_other) throw std::bad_alloc();
      return Outcome();
    });
  }
  /// Checks that a new client is served, and finds this value in row 2.
  void ExpectServed(const std::string& value) {
    server_.store.SetHook({});
    LineClient client = server_.ConnectAndOpen();
    EXPECT_EQ("0\t2\t2\t" + value, client.Ask("0\t=\t1\t2\n"));
    EXPECT_EQ("0\t1\t1", client.Ask(Change(2, 99)));
    EXPECT_EQ("0\t2\t2\t99", client.Ask("0\t=\t1\t2\n"));
  }

  TestPort server_;
};

TEST_F(WorkerMemoryTest, FindEndsItsConnection) {
  server_.Start();
  LineClient greedy = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
  Exhaust(Call::Kind::kExecute);
  EXPECT_EQ("(end)", greedy.Ask("0\t=\t1\t2\n"));
  EXPECT_EQ(kRow1, other.Ask(kFind1));
  ExpectServed("20");
}

TEST_F(WorkerMemoryTest, WriteEndsItsConnectionAndChangesNothing) {
  server_.Start();
  LineClient greedy = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
  Exhaust(Call::Kind::kExecute);
  greedy.Send(Change(1, 11) + Change(2, 21));
  EXPECT_EQ("(end)", greedy.ReadLine());
  EXPECT_EQ(kRow1, other.Ask(kFind1));
  ExpectServed("20");
}

TEST_F(WorkerMemoryTest, CommitKeepsNoClientWaiting) {
  server_.Start();
  LineClient greedy = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
  Exhaust(Call::Kind::kCommit);
  EXPECT_EQ("(end)", greedy.Ask(Change(2, 21)));
  ExpectServed("20");
  EXPECT_EQ("0\t2\t2\t99", other.Ask("0\t=\t1\t2\n"));
}

TEST_F(WorkerMemoryTest, RequestThatWaitedEndsItsConnection) {
  server_.Start();
  LineClient greedy = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  Exhaust(Call::Kind::kExecute, LockWait::kServer);
  EXPECT_EQ("(end)", greedy.Ask(Change(2, 21)));
  held.reset();
  ExpectServed("20");
}

TEST_F(WorkerMemoryTest, OpenThatWaitedEndsItsConnection) {
  server_.Start();
  LineClient greedy = server_.Connect();
  auto held = server_.store.LockTable(kServedTable);
  Exhaust(Call::Kind::kOpenIndex, LockWait::kServer);
  EXPECT_EQ("(end)", greedy.Ask(kOpenIdV));
  held.reset();
  ExpectServed("20");
}

// What the frontends share stays as it was.
TEST_F(WorkerMemoryTest, RequestsAreServedWhereThePortCannotBePrepared) {
  std::atomic<int> prepared{0};
  server_.settings.prepare = [&prepared](engine::Session& session, bool) {
    session.BeginTurn(false);
    ++prepared;
    throw std::bad_alloc();
  };
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ("0\t1\t1", client.Ask(Change(2, 21)));
  EXPECT_NE(0, prepared);
  server_.Stop();
}

// KILL while the commit waits for a replica: the change is there, and may be gone after a failover.
TEST_F(WorkerMemoryTest, CommitWithUnknownOutcomeIsNotAnswered) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen(), waits = server_.ConnectAndOpen();
  server_.store.SetHook([](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kCommit) outcome.result = Outcome::Result::kUnknown;
    return outcome;
  });
  EXPECT_EQ("(end)", client.Ask(Change(2, 21)));
  auto held = server_.store.LockRow(kServedTable, {"2"});
  waits.Send(Change(2, 22));
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  held.reset();
  EXPECT_EQ("(end)", waits.ReadLine());
  ExpectServed("22");
}

TEST_F(WorkerMemoryTest, RefusedConnectionsHideNoLineAboutAnUnknownOutcome) {
  server_.settings.workers = 1;
  server_.settings.limits.connections_max = 1;
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  for (int i = 0; i < 2; ++i) EXPECT_EQ("(end)", server_.Connect().Ask(kOpenIdV));
  server_.store.SetHook([](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kCommit) outcome.result = Outcome::Result::kUnknown;
    return outcome;
  });
  EXPECT_EQ("(end)", client.Ask(Change(2, 21)));
  std::vector<std::string> log;
  EXPECT_TRUE(Eventually([&] {
    for (std::string& line : server_.TakeLog()) log.push_back(std::move(line));
    return log.size() == 2;
  }));
  EXPECT_NE(std::string::npos, log.front().find("connections_max"));
  EXPECT_NE(std::string::npos, log.back().find("the outcome of a commit is unknown"));
}

}  // namespace
}  // namespace rowsocket::exec
