// How many workers are at work, and which connections move between them.
#include "exec/worker_pool.h"

#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

/// Plays periods to a WorkerPoolSizer. `requests`: requests/s by the workers at work, from 1 on.
class WorkerPoolSizerTest : public ::testing::Test {
 protected:
  uint32_t Play(double busy, std::vector<double> requests, unsigned periods = 1) {
    for (unsigned i = 0; i < periods; ++i) {
      now_ms_ += 100;
      const double awake = busy * sizer_->at_work();
      sizer_->Next({now_ms_, awake, requests[sizer_->at_work() - 1], blocked_ * awake});
      seen_[sizer_->at_work()]++;
    }
    return sizer_->at_work();
  }

  std::optional<WorkerPoolSizer> sizer_{4};
  double blocked_ = 0;  ///< The blocked part of the time awake.
  int64_t now_ms_ = 0;
  std::map<uint32_t, unsigned> seen_;
};

TEST_F(WorkerPoolSizerTest, OneWorkerWhileItSleepsNowAndThen) {
  EXPECT_EQ(1u, Play(0.8, {100, 200, 300, 400}, 100));
  EXPECT_EQ(100u, seen_[1]);
}

TEST_F(WorkerPoolSizerTest, AllWorkersSoonWhereEachIsWorthIt) {
  EXPECT_EQ(4u, Play(1, {100, 200, 300, 400}, 10));
}

TEST_F(WorkerPoolSizerTest, WorkersThatAreNotWorthItAreSeldomTried) {
  Play(1, {100, 180, 185, 190}, 1000);
  EXPECT_GT(seen_[2], 950u);
  EXPECT_GT(seen_[4], 0u) << "that it is not worth it may change";
  seen_.clear();
  Play(1, {100, 105, 110, 115}, 1000);
  EXPECT_GT(seen_[1], 850u);
}

TEST_F(WorkerPoolSizerTest, PeriodThatWasGoodByChanceIsPutRight) {
  EXPECT_EQ(2u, Play(1, {100, 0, 0, 0}, 2)) << "tried";
  EXPECT_EQ(2u, Play(1, {0, 140, 0, 0})) << "worth it, as it seems";
  seen_.clear();
  Play(1, {100, 105, 105, 105}, 100);
  EXPECT_GT(seen_[1], 70u);
}

TEST_F(WorkerPoolSizerTest, LoadThatBeganInTheMidstOfAPeriodIsNoMark) {
  Play(1, {40, 0, 0, 0});
  EXPECT_EQ(2u, Play(1, {100, 0, 0, 0})) << "tried";
  EXPECT_EQ(1u, Play(1, {0, 90, 0, 0}))
      << "less than one worker, though more than in its first period";
}

TEST_F(WorkerPoolSizerTest, DoublesWhereOneMoreWorkerBringsLittle) {
  sizer_.emplace(12);
  std::vector<double> requests;
  for (unsigned workers = 1; workers <= 12; ++workers) requests.push_back(workers * 100.0);
  EXPECT_EQ(12u, Play(1, requests, 20));
}

TEST_F(WorkerPoolSizerTest, WorkersThatWaitForTheDiskNeedToBringLess) {
  Play(1, {100, 115, 125, 130}, 100);
  EXPECT_GT(seen_[1], 70u);
  sizer_.emplace(4);
  seen_.clear();
  blocked_ = 0.6;
  Play(1, {100, 115, 125, 130}, 100);
  EXPECT_GT(seen_[4], 70u);
}

TEST_F(WorkerPoolSizerTest, FewerWorkersAsSoonAsThereIsLittleToDo) {
  Play(1, {100, 200, 300, 400}, 10);
  EXPECT_EQ(3u, Play(0.4, {100, 100, 100, 100}));
  EXPECT_EQ(1u, Play(0.1, {10, 10, 10, 10}, 2));
  EXPECT_EQ(4u, Play(1, {100, 200, 300, 400}, 10)) << "and again more at once";
}

TEST(RunTimeTest, GrowsWhileTheThreadRuns) {
  RunTime time;
  EXPECT_EQ(-1, time.Us());
  time.Open();
  const int64_t before = time.Us();
  ASSERT_GE(before, 0);
  // Asking takes run time, too.
  EXPECT_TRUE(Eventually([&] { return time.Us() > before; }));
}

class WorkerPoolTest : public ::testing::Test {
 protected:
  void StartWith(unsigned workers) {
    server_.settings.workers = workers;
    server_.settings.elastic = true;
    server_.Start();
    server_.store.SetHook([this](const Call& call) {
      const std::lock_guard lock(mutex_);
      if (call.kind == Call::Kind::kExecute) threads_.insert(std::this_thread::get_id());
      return Outcome();
    });
  }
  void TearDown() override { server_.Stop(); }  // The hook uses members of this class.

  /// How many threads have executed a request since the last call.
  size_t Threads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(threads_, {}).size();
  }
  void AskAll() {
    for (LineClient& client : clients_) EXPECT_EQ(kRow1, client.Ask(kFind1));
  }

  TestPort server_;
  std::vector<LineClient> clients_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

TEST_F(WorkerPoolTest, OneWorkerIsAtWorkUntilMoreAreNeeded) {
  StartWith(4);
  for (unsigned i = 0; i < 12; ++i) clients_.push_back(server_.ConnectAndOpen());
  AskAll();
  EXPECT_EQ(1u, Threads());
}

TEST_F(WorkerPoolTest, ConnectionsMoveToWorkersAtWorkAndBack) {
  StartWith(3);
  for (unsigned i = 0; i < 12; ++i) clients_.push_back(server_.ConnectAndOpen());
  server_.port->worker_pool().Pin(3);
  // New connections go to the other workers, and the pool divides the active ones.
  for (unsigned i = 0; i < 12; ++i) clients_.push_back(server_.ConnectAndOpen());
  Threads();
  AskAll();
  EXPECT_EQ(3u, Threads());
  server_.port->worker_pool().Pin(1);
  EXPECT_TRUE(Eventually([this] {
    AskAll();
    return Threads() == 1;
  }));
  EXPECT_GE(server_.Stat(Stat::kConnectionsMoved), 6u);
  EXPECT_EQ(24u, server_.Stat(Stat::kConnections));
  clients_.clear();
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 0; }));
}

TEST_F(WorkerPoolTest, UnauthenticatedConnectionsStayWithTheirDeadline) {
  server_.settings.limits.auth_timeout_s = 20;
  ASSERT_TRUE(server_.frontend.secret.Set("s"));
  server_.settings.workers = 2;
  server_.settings.elastic = true;
  server_.Start();
  server_.port->worker_pool().Pin(2);
  LineClient first = server_.Connect(), second = server_.Connect();
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 2; }));
  server_.port->worker_pool().Pin(1);
  for (LineClient* each : {&first, &second}) EXPECT_EQ("3\t1\tunauth", each->Ask(kFind1));
  EXPECT_EQ(0u, server_.Stat(Stat::kConnectionsMoved));
}

// Requests that a connection sends in one go stay in order, whichever worker serves it.
TEST_F(WorkerPoolTest, NothingIsLostWhileConnectionsMove) {
  constexpr unsigned kClients = 8, kRounds = 200, kDepth = 5;
  StartWith(4);
  std::atomic<unsigned> left{kClients};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kClients; ++i) {
    threads.emplace_back([this, &left] {
      LineClient client = server_.Connect();
      EXPECT_EQ("0\t1", client.Ask("P\t0\ttest\tt\t\tv\n"));
      std::string request, own;
      for (unsigned j = 0; j < kDepth; ++j) request += "0\t=\t1\t3\t1\t0\t+?\t1\n";
      int64_t before = -1;
      for (unsigned round = 0; round < kRounds; ++round) {
        client.Send(request);
        for (unsigned j = 0; j < kDepth; ++j) {
          const std::string line = client.ReadLine();
          ASSERT_EQ("0\t1\t", line.substr(0, 4)) << line;
          const int64_t value = std::stoll(line.substr(4));
          ASSERT_GT(value, before);
          before = value;
        }
      }
      --left;
    });
  }
  std::mt19937 random(1);
  while (left != 0) {
    server_.port->worker_pool().Pin(1 + random() % 4);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  const std::string value = std::to_string(30 + kClients * kRounds * kDepth);
  EXPECT_EQ("1,10;2,20;3," + value + ";", server_.store.Dump(kServedTable));
  EXPECT_GT(server_.Stat(Stat::kConnectionsMoved), 0u);
}

}  // namespace
}  // namespace rowsocket::exec
