// What a worker does about clients that are too slow, too many, too large or not authenticated, and
// how a worker ends.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "exec/test_notification.h"
#include "exec/worker.h"
#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

class WorkerLimitsTest : public ::testing::Test {
 protected:
  /// For clients that must not be closed, which may be idle for almost as long.
  static constexpr unsigned kTimeoutS = 3;

  WorkerLimitsTest() {
    server_.settings.limits.buffered_bytes_max = 16 * 1024;
    server_.settings.listen.send_buffer_bytes = 64 * 1024;
  }

  static void AllowDescriptors(rlim_t count) {
    rlimit limit;
    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = std::max(limit.rlim_cur, std::min(count, limit.rlim_max));
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
  }
  /// A table of one row of 10,000 bytes, opened as id 1.
  void OpenLargeRow(LineClient& client) {
    server_.store.CreateTable({"test.large", {"id", "v"}, {{"PRIMARY", {0}}}},
                              {{"1", std::string(10'000, 'x')}});
    EXPECT_EQ("0\t1", client.Ask("P\t1\ttest\tlarge\t\tv\n"));
    const int bytes = 128 * 1024;
    setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  }
  /// The replies to this many requests do not fit into the kernel's buffers.
  static constexpr unsigned kLargeFinds = 2000;
  static std::string LargeFinds() {
    std::string finds;
    for (unsigned i = 0; i < kLargeFinds; ++i) finds += "1\t=\t1\t1\n";
    return finds;
  }
  /// Waits until nothing more is sent to the client that does not read, as another client sees in
  /// the counters.
  ::testing::AssertionResult AwaitPause(LineClient& other) {
    for (unsigned quiet = 0, rounds = 0; quiet < 20; ++rounds) {
      const uint64_t finds_before = server_.Stat(Stat::kFinds);
      if (other.Ask(kFind1) != "0\t2\t1\t10") return ::testing::AssertionFailure() << "no answer";
      quiet = server_.Stat(Stat::kFinds) == finds_before + 1 ? quiet + 1 : 0;
      if (rounds == 10'000) return ::testing::AssertionFailure() << "never pauses";
    }
    return ::testing::AssertionSuccess();
  }

  TestPort server_;
};

TEST_F(WorkerLimitsTest, ClientThatDoesNotReadIsPausedAndGoesOn) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  OpenLargeRow(client);
  client.Send(LargeFinds());
  ASSERT_TRUE(AwaitPause(other));
  EXPECT_LT(server_.Stat(Stat::kFinds), kLargeFinds);
  for (unsigned i = 0; i < kLargeFinds; ++i) ASSERT_EQ(10'004u, client.ReadLine().size());
}

TEST_F(WorkerLimitsTest, ClientThatNeverReadsIsClosed) {
  server_.settings.limits.idle_timeout_s = 1;
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  OpenLargeRow(client);
  client.Send(LargeFinds());
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsTimedOut) == 1; }));
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 0; }));
  EXPECT_LT(server_.Stat(Stat::kFinds), kLargeFinds);
}

TEST_F(WorkerLimitsTest, MemoryOfAllClientsTogetherIsLimited) {
  constexpr size_t kTogether = 1u << 20;
  server_.settings.limits.buffered_bytes_max = 100'000;
  server_.settings.limits.memory_bytes_max = kTogether;
  server_.Start();
  LineClient other = server_.ConnectAndOpen();
  {
    std::vector<LineClient> silent;
    for (int i = 0; i < 12; ++i) {
      silent.push_back(server_.ConnectAndOpen());
      OpenLargeRow(silent.back());
      silent.back().Send(LargeFinds());
    }
    // One more client has begun a line that is longer than the memory left.
    silent.push_back(server_.ConnectAndOpen());
    silent.back().Send(std::string(kTogether, 'x'));
    ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsLost) >= 2; }));
    EXPECT_EQ("0\t2\t1\t10", other.Ask(kFind1));
    EXPECT_GE(server_.Stat(Stat::kConnections), 2u);
    const std::vector<std::string> log = server_.TakeLog();
    ASSERT_EQ(1u, log.size());
    EXPECT_NE(std::string::npos, log[0].find("handlersocket_memory_max_bytes"));
  }
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 1; }));
  // The memory of the closed connections is free for others.
  LineClient reads = server_.ConnectAndOpen();
  OpenLargeRow(reads);
  reads.Send(LargeFinds());
  for (unsigned i = 0; i < kLargeFinds; ++i) ASSERT_EQ(10'004u, reads.ReadLine().size());
}

// The lane may be at work on its request, whose memory would not be free if it were closed.
TEST_F(WorkerLimitsTest, ClientThatWaitsForALockIsNotClosedForWhatOthersHold) {
  constexpr size_t kTogether = 2u << 20;
  server_.settings.workers = 1;
  server_.settings.limits.buffered_bytes_max = kTogether;
  server_.settings.limits.memory_bytes_max = kTogether;
  server_.Start();
  LineClient waits = server_.ConnectAndOpen();
  OpenLargeRow(waits);
  auto held = server_.store.LockRow(kServedTable, {"2"});
  constexpr unsigned kFinds = 80;
  std::string requests;
  for (unsigned i = 0; i < kFinds; ++i) requests += "1\t=\t1\t1\n";
  waits.Send(requests + "0\t=\t1\t2\t1\t0\tU\t2\t21\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  // Each has begun a line, and holds little enough that it may stay.
  std::vector<LineClient> others;
  const uint64_t before = server_.Stat(Stat::kBytesReceived);
  constexpr size_t kLine = 40'000, kOthers = 40;
  for (size_t i = 0; i < kOthers; ++i) {
    others.push_back(server_.Connect());
    others.back().Send(std::string(kLine, 'x'));
  }
  ASSERT_TRUE(
      Eventually([&] { return server_.Stat(Stat::kBytesReceived) == before + kOthers * kLine; }));
  for (unsigned i = 0; i < kFinds; ++i) ASSERT_EQ(10'004u, waits.ReadLine().size());
  held.reset();
  EXPECT_EQ("0\t1\t1", waits.ReadLine());
  EXPECT_EQ(0u, server_.Stat(Stat::kConnectionsLost));
}

TEST_F(WorkerLimitsTest, HalfClosedClientThatDoesNotReadCostsNoTurns) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  OpenLargeRow(client);
  constexpr unsigned kHalfClosedFinds = 300;
  // All requests come with one receive, and the end of the input is seen before the first large
  // reply.
  std::string pipeline;
  for (unsigned i = 0; i < model::kTurnRequestsPerConnectionMax; ++i) pipeline += kFind1;
  for (unsigned i = 0; i < kHalfClosedFinds; ++i) pipeline += "1\t=\t1\t1\n";
  auto delay = server_.store.DelayRow(kServedTable, {"1"});
  client.Send(pipeline);
  client.HalfClose();
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  delay.reset();
  ASSERT_TRUE(AwaitPause(other));
  // The kernel may take a few more bytes of its replies late, each of which lets it have a turn. A
  // client that cost turns would never leave the other one's turns to themselves.
  ASSERT_TRUE(Eventually([&] {
    constexpr int kOthersTurns = 50;
    const uint64_t turns_before = server_.Stat(Stat::kTurns);
    for (int i = 0; i < kOthersTurns; ++i) EXPECT_EQ("0\t2\t1\t10", other.Ask(kFind1));
    return server_.Stat(Stat::kTurns) == turns_before + kOthersTurns;
  }));
  for (unsigned i = 0; i < model::kTurnRequestsPerConnectionMax; ++i) {
    ASSERT_EQ("0\t2\t1\t10", client.ReadLine());
  }
  for (unsigned i = 0; i < kHalfClosedFinds; ++i) ASSERT_EQ(10'004u, client.ReadLine().size());
  EXPECT_EQ("(end)", client.ReadLine());
}

TEST_F(WorkerLimitsTest, PipelineIsTakenInAsItIsExecuted) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  auto delay = server_.store.DelayRow(kServedTable, {"3"});
  other.Send("0\t=\t1\t3\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  constexpr unsigned kRequests = 40'000;
  std::string pipeline;
  for (unsigned i = 0; i < kRequests; ++i) pipeline += "bad\n";
  std::thread sender([&] { client.Send(pipeline); });
  const uint64_t received_before = server_.Stat(Stat::kBytesReceived);
  uint64_t ahead_bytes_max = 0;
  server_.store.SetHook([&](const Call& call) {
    if (call.kind == Call::Kind::kBeginTurn) {
      const uint64_t received = server_.Stat(Stat::kBytesReceived) - received_before;
      const uint64_t answered = 4 * server_.Stat(ErrorStat(model::ErrorCode::kCmd));
      ahead_bytes_max = std::max(ahead_bytes_max, received - std::min(received, answered));
    }
    return Outcome();
  });
  delay.reset();
  for (unsigned i = 0; i < kRequests; ++i) ASSERT_EQ("2\t1\tcmd", client.ReadLine());
  sender.join();
  server_.Stop();
  EXPECT_LE(ahead_bytes_max, net::BufferPool::kBufferBytesMax + 1000);
}

TEST_F(WorkerLimitsTest, IdleConnectionIsClosed) {
  server_.settings.limits.idle_timeout_s = kTimeoutS;
  server_.Start();
  LineClient idle = server_.ConnectAndOpen();
  LineClient busy = server_.ConnectAndOpen();
  while (server_.Stat(Stat::kConnectionsTimedOut) == 0) ASSERT_NE("(end)", busy.Ask(kFind1));
  EXPECT_EQ("(end)", idle.ReadLine());
  EXPECT_EQ("0\t2\t1\t10", busy.Ask(kFind1));
}

// Input that comes during a long turn counts as activity.
TEST_F(WorkerLimitsTest, ClientThatAsksDuringALongTurnIsServed) {
  server_.settings.limits.idle_timeout_s = kTimeoutS;
  server_.settings.workers = 1;
  server_.Start();
  LineClient slow = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
  auto delayed = server_.store.DelayRow(kServedTable, {"2"});
  slow.Send("0\t=\t1\t2\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  other.Send(kFind1);
  // A connection of another port that was made later has been closed by then: the timeout of
  // this one is over.
  TestPort elsewhere;
  elsewhere.settings.limits.idle_timeout_s = kTimeoutS;
  elsewhere.Start();
  EXPECT_EQ("(end)", elsewhere.Connect().ReadLine());
  delayed.reset();
  EXPECT_EQ("0\t2\t1\t10", other.ReadLine());
}

// One look at the sockets does not show all of these clients.
TEST_F(WorkerLimitsTest, ManyClientsThatAskDuringALongTurnAreServed) {
  constexpr unsigned kMany = 700;
  AllowDescriptors(2 * kMany + 100);
  server_.settings.limits.idle_timeout_s = kTimeoutS;
  server_.settings.workers = 1;
  server_.Start();
  LineClient slow = server_.ConnectAndOpen();
  std::vector<LineClient> others;
  for (unsigned i = 0; i < kMany; ++i) others.push_back(server_.ConnectAndOpen());
  auto delayed = server_.store.DelayRow(kServedTable, {"2"});
  slow.Send("0\t=\t1\t2\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  for (LineClient& other : others) other.Send(kFind1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000 * kTimeoutS + 500));
  delayed.reset();
  for (LineClient& other : others) ASSERT_EQ("0\t2\t1\t10", other.ReadLine());
  EXPECT_EQ(0u, server_.Stat(Stat::kConnectionsTimedOut));
}

/// Finds of many rows, which take longer than a turn may take; the first begins when the test says
/// so.
struct LongFinds {
  engine::Outcome OnCall(const engine::fake::Call& call) {
    if (call.kind != engine::fake::Call::Kind::kExecute) return {};
    if (call.request->find.limit <= model::kShortFindRows) {
      begun_before_short = begun.load();
      return {};
    }
    if (++begun == 1) {
      first_began.Notify();
      goes_on.Wait();
    }
    const int64_t now_ms = base::CoarseNowMs();
    while (base::CoarseNowMs() - now_ms <= model::kTurnMsMax) {
    }
    return {};
  }

  Notification first_began, goes_on;
  std::atomic<unsigned> begun{0}, begun_before_short{0};
};

TEST_F(WorkerLimitsTest, LongRequestsOfOneClientDoNotKeepOthersWaiting) {
  server_.settings.workers = 1;
  server_.settings.turn_ms_max = model::kTurnMsMax;
  server_.Start();
  LineClient slow = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
  LongFinds finds;
  server_.store.SetHook([&finds](const engine::fake::Call& call) { return finds.OnCall(call); });
  for (int i = 0; i < 8; ++i) slow.Send("0\t>=\t1\t1\t1000\n");
  ASSERT_TRUE(finds.first_began.Wait());
  other.Send(kFind1);
  finds.goes_on.Notify();
  EXPECT_EQ("0\t2\t1\t10", other.ReadLine());
  EXPECT_LE(finds.begun_before_short.load(), 3u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ("0\t2\t1\t10\t2\t20\t3\t30", slow.ReadLine());
  server_.Stop();
}

TEST_F(WorkerLimitsTest, ConnectionThatWaitsForALockIsNotIdle) {
  server_.settings.limits.idle_timeout_s = kTimeoutS;
  server_.Start();
  LineClient waits = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  waits.Send("0\t=\t1\t2\t1\t0\tD\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  LineClient idle = server_.ConnectAndOpen();
  EXPECT_EQ("(end)", idle.ReadLine());
  held.reset();
  EXPECT_EQ("0\t1\t1", waits.ReadLine());
}

TEST_F(WorkerLimitsTest, ClientThatDoesNotAuthenticateInTimeIsClosed) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.settings.limits.auth_timeout_s = kTimeoutS;
  server_.Start();
  LineClient authenticated = server_.Connect();
  EXPECT_EQ("0\t1", authenticated.Ask("A\t1\tsecret\n"));
  LineClient silent = server_.Connect();
  LineClient wrong = server_.Connect();
  EXPECT_EQ("3\t1\tunauth", wrong.Ask("A\t1\twrong\n"));
  EXPECT_EQ("(end)", silent.ReadLine());
  EXPECT_EQ("(end)", wrong.ReadLine());
  EXPECT_EQ("0\t1", authenticated.Ask(kOpenIdV));
  EXPECT_EQ(2u, server_.Stat(Stat::kConnectionsTimedOut));
}

TEST_F(WorkerLimitsTest, ClientThatLosesItsAuthorizationHasToRegainItInTime) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.settings.limits.auth_timeout_s = kTimeoutS;
  server_.settings.limits.idle_timeout_s = 0;
  server_.Start();
  LineClient regains = server_.Connect(), lost = server_.Connect();
  for (LineClient* const client : {&regains, &lost}) {
    EXPECT_EQ("0\t1", client->Ask("A\t1\tsecret\n"));
    EXPECT_EQ("3\t1\tunauth", client->Ask("A\t1\twrong\n"));
  }
  EXPECT_EQ("0\t1", regains.Ask("A\t1\tsecret\n"));
  EXPECT_EQ("(end)", lost.ReadLine());
  EXPECT_EQ("0\t1", regains.Ask(kOpenIdV));
  EXPECT_EQ(1u, server_.Stat(Stat::kConnectionsTimedOut));
}

TEST_F(WorkerLimitsTest, WithoutAnAuthTimeoutTheIdleTimeoutHolds) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.settings.limits.idle_timeout_s = kTimeoutS;
  server_.Start();
  LineClient authenticated = server_.Connect();
  EXPECT_EQ("0\t1", authenticated.Ask("A\t1\tsecret\n"));
  LineClient silent = server_.Connect();
  EXPECT_EQ("(end)", silent.ReadLine());
  EXPECT_EQ("(end)", authenticated.ReadLine());
}

// The requests are ready for the next turn at the moment at which the time is over.
TEST_F(WorkerLimitsTest, FloodOfRequestsMayEndByATimeout) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.settings.limits.auth_timeout_s = kTimeoutS;
  server_.Start();
  std::vector<std::thread> floods;
  for (int i = 0; i < 4; ++i) {
    floods.emplace_back([this] {
      const net::UniqueFd fd = server_.ConnectFd();
      std::string lines;
      for (int line = 0; line < 1000; ++line) lines += "0\t=\t1\t1\n";
      char replies[64 * 1024];
      while (send(fd.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 ||
             errno == EAGAIN) {
        if (recv(fd.get(), replies, sizeof(replies), 0) <= 0) break;
      }
    });
  }
  for (std::thread& flood : floods) flood.join();
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 0; }));
  LineClient client = server_.Connect();
  EXPECT_EQ("0\t1", client.Ask("A\t1\tsecret\n"));
}

TEST_F(WorkerLimitsTest, WithoutTheSecretEverythingIsRefused) {
  ASSERT_TRUE(server_.frontend.secret.Set("secret"));
  server_.settings.limits.auth_timeout_s = 20;
  server_.Start();
  LineClient client = server_.Connect();
  for (const char* line : {kOpenIdV, kFind1, "0\t+\t2\t4\t4\n", "A\t1\n", "A\t1\tSecret\n"}) {
    EXPECT_EQ("3\t1\tunauth", client.Ask(line)) << line;
  }
  EXPECT_EQ("2\t1\tcmd", client.Ask("\n"));
  EXPECT_EQ("3\t1\tauthtype", client.Ask("A\t2\tsecret\n"));
  EXPECT_EQ(0u, server_.store.calls(Call::Kind::kOpenIndex));
  EXPECT_EQ(0u, server_.store.calls(Call::Kind::kExecute));
  // Little is kept of unauthenticated input: one line of that length fits, a longer line does not.
  const std::string longest(model::kUnauthenticatedLineBytesMax, '1');
  EXPECT_EQ("2\t1\tlinelen", client.Ask("1" + longest + "\n"));
  EXPECT_EQ("3\t1\tunauth", client.Ask(longest + "\n"));
  EXPECT_EQ("0\t1", client.Ask("A\t1\tsecret\n"));
  EXPECT_EQ("2\t1\tnumber", client.Ask("1" + longest + "\n"));
}

TEST_F(WorkerLimitsTest, LineThatIsTooLongKeepsTheStreamInStep) {
  server_.settings.limits.line_bytes_max = 100;
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  std::string lines = "0\t=\t1\t2\t1\t0\tU\t2\t21\n";
  for (const size_t bytes : {101, 102, 103, 104, 5'000, 300'000}) {
    lines += std::string(bytes, '0') + "\n" + kFind1;
  }
  client.Send(lines);
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  held.reset();
  EXPECT_EQ("0\t1\t1", client.ReadLine());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ("2\t1\tlinelen", client.ReadLine());
    EXPECT_EQ("0\t2\t1\t10", client.ReadLine());
  }
}

TEST_F(WorkerLimitsTest, IdsHaveALimit) {
  server_.settings.limits.index_ids_max = 8;
  server_.Start();
  LineClient client = server_.Connect();
  EXPECT_EQ("0\t1", client.Ask("P\t7\ttest\tt\t\tv\n"));
  EXPECT_EQ("2\t1\tstmtnum", client.Ask("P\t8\ttest\tt\t\tv\n"));
  EXPECT_EQ("2\t1\tstmtnum", client.Ask("8\t=\t1\t1\n"));
  EXPECT_EQ("2\t1\tstmtnum", client.Ask("P\t18446744073709551615\ttest\tt\t\tv\n"));
  EXPECT_EQ("2\t1\tnumber", client.Ask("P\t18446744073709551616\ttest\tt\t\tv\n"));
  EXPECT_EQ("2\t1\tstmtnum", client.Ask("6\t=\t1\t1\n"));
  EXPECT_EQ("0\t1\t10", client.Ask("7\t=\t1\t1\n"));
}

// A worker without requests gives its tables back after a while, because DDL waits for them.
TEST_F(WorkerLimitsTest, BytesThatAreNoRequestDoNotKeepTablesOpen) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient slow = server_.Connect();
  EXPECT_EQ("0\t2\t1\t10", client.Ask(kFind1));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (server_.store.sessions_with_tables() != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    slow.Send("0");
  }
}

TEST_F(WorkerLimitsTest, StopEndsAStatementThatTakesLong) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  const auto delay = server_.store.DelayRow(kServedTable, {"1"});
  client.Send(kFind1);
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  server_.Stop();
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(WorkerLimitsTest, SessionThatMustStopEndsTheWorker) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  server_.store.ShutDown();
  EXPECT_EQ("(end)", client.ReadLine());
  EXPECT_TRUE(Eventually([this] { return server_.store.sessions() == 0; }));
}

}  // namespace
}  // namespace rowsocket::exec
