// H10 without a server: many connections take from one row, three in ten vanish between request and
// reply, and the port is stopped in the middle of it. It is mainly for ThreadSanitizer, but also
// compares the answers with the row.
//
// Flow: buyers (threads with several connections each) -> sockets -> workers, batch executors, wait
// lane -> the in-memory engine, in which deadlocks happen and a SQL session holds the row now and
// then.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::fake::Call;

constexpr int kStock = 1'000'000'000;
constexpr unsigned kBuyers = 4, kConnectionsOfBuyer = 12;
constexpr uint64_t kSoldBeforeStop = 1000;

constexpr char kOpen[] = "P\t0\ttest\tt\t\tv\tv\n";
constexpr char kTake[] = "0\t=\t1\t1\t1\t0\tF\t>\t0\t3\t-?\t1\n";
constexpr char kGet[] = "0\t=\t1\t1\n";

/// One request, as its buyer remembers it.
struct Asked {
  bool takes = false;
  std::string token;  ///< Empty: none.
};

/// A thread that plays its connections in turn until the port has gone.
class Buyer {
 public:
  Buyer(unsigned number, unsigned seed, uint16_t port, std::atomic<uint64_t>& sold)
      : number_(number), random_(seed * kBuyers + number), port_(port), sold_(sold) {}

  void Run() {
    while (!ended_) {
      std::vector<std::vector<Asked>> asked(kConnectionsOfBuyer);
      for (unsigned i = 0; i < kConnectionsOfBuyer && !ended_; ++i) asked[i] = Ask(i);
      for (unsigned i = 0; i < kConnectionsOfBuyer; ++i) Settle(i, asked[i]);
    }
  }

  std::vector<int> befores;           ///< Answers that were received without a token.
  std::map<std::string, int> tokens;  ///< Answers that were received, by token.
  uint64_t unknown = 0;               ///< Takes that were sent and not answered, without a token.
  std::set<std::string> unknown_tokens;

 private:
  unsigned Random(unsigned below) { return static_cast<unsigned>(random_() % below); }

  std::vector<Asked> Ask(unsigned i) {
    if (clients_[i] == nullptr && !Connect(i)) return {};
    std::vector<Asked> asked(1 + Random(4));
    std::string lines;
    for (Asked& one : asked) {
      one.takes = Random(4) != 0;
      if (one.takes && Random(8) == 0) one.token = NextToken();
      if (!one.token.empty()) lines += "T\t" + one.token + "\t";
      lines += one.takes ? kTake : kGet;
    }
    // When the port has stopped, the answers say so; a broken pipe does not matter here.
    send(clients_[i]->fd(), lines.data(), lines.size(), MSG_NOSIGNAL);
    return asked;
  }

  bool Connect(unsigned i) {
    net::UniqueFd fd = net::ConnectV4(port_);
    ended_ = !fd.valid();
    if (ended_) return false;
    clients_[i] = std::make_unique<LineClient>(std::move(fd));
    send(clients_[i]->fd(), kOpen, sizeof(kOpen) - 1, MSG_NOSIGNAL);
    if (clients_[i]->ReadLine() == "0\t1") return true;
    clients_[i].reset();
    ended_ = true;
    return false;
  }

  /// A token: a request that was not answered is sent again with its token, on any connection.
  std::string NextToken() {
    if (!unknown_tokens.empty()) return *unknown_tokens.begin();
    return "t" + std::to_string(number_) + "-" + std::to_string(++made_tokens_);
  }

  void Settle(unsigned i, const std::vector<Asked>& asked) {
    const bool vanishes = Random(10) < 3;
    size_t answered = 0;
    const size_t reads = vanishes ? Random(static_cast<unsigned>(asked.size()) + 1) : asked.size();
    while (answered < reads && Receive(i, asked[answered])) ++answered;
    for (size_t at = answered; at < asked.size(); ++at) {
      if (!asked[at].takes) continue;
      if (asked[at].token.empty())
        ++unknown;
      else if (!tokens.contains(asked[at].token))
        unknown_tokens.insert(asked[at].token);
    }
    if (clients_[i] == nullptr || !vanishes) return;
    if (Random(2) == 0) clients_[i]->Reset();
    clients_[i].reset();
  }

  bool Receive(unsigned i, const Asked& one) {
    const std::string line = clients_[i]->ReadLine();
    if (line == "(end)") {
      clients_[i].reset();
      return false;
    }
    const bool is_value = line.starts_with("0\t1\t");
    // The stop interrupts waits for the row, and a request may meet one deadlock after another.
    EXPECT_TRUE(is_value || line == "1\t1\tkilled" || line == "1\t1\t149") << line;
    if (!one.takes || !is_value) return true;
    const int before = std::stoi(line.substr(4));
    sold_.fetch_add(1, std::memory_order_relaxed);
    if (one.token.empty()) {
      befores.push_back(before);
      return true;
    }
    const auto [at, is_new] = tokens.emplace(one.token, before);
    EXPECT_EQ(at->second, before) << one.token << " was answered twice, and not alike";
    unknown_tokens.erase(one.token);
    return true;
  }

  const unsigned number_;
  std::mt19937 random_;
  const uint16_t port_;
  std::atomic<uint64_t>& sold_;
  std::array<std::unique_ptr<LineClient>, kConnectionsOfBuyer> clients_;
  unsigned made_tokens_ = 0;
  bool ended_ = false;
};

class HotRowTest : public ::testing::TestWithParam<unsigned> {
 protected:
  HotRowTest() {
    server_.store.CreateTable({kServedTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                              {{"1", std::to_string(kStock)}});
    server_.store.CreateTable({"rowsocket.tokens",
                               {"token", "request", "answer", "created"},
                               {{"PRIMARY", {0}}, {"created", {3}}}});
    server_.frontend.serves_tokens = true;
    server_.settings.workers = 1 + GetParam() % 2;
    server_.store.SetHook([](const Call& call) {
      const bool is_step = call.kind == Call::Kind::kExecute ||
                           call.kind == Call::Kind::kBeginRow || call.kind == Call::Kind::kEndRow;
      return is_step && call.number % 101 == 0 ? engine::fake::Deadlock() : engine::Outcome();
    });
    server_.Start();
  }
  ~HotRowTest() override { server_.store.SetHook({}); }

  /// Locks the row in a SQL session now and then, so that requests go to the lane.
  void HoldTheRow() {
    while (!stopping_) {
      const auto held = server_.store.LockRow(kServedTable, {"1"});
      server_.store.AwaitWaiting(1);
    }
  }

  int Left() const {
    const std::string dump = server_.store.Dump(kServedTable);
    return std::stoi(dump.substr(dump.find(',') + 1));
  }

  TestPort server_;
  std::atomic<uint64_t> sold_{0};
  std::atomic<bool> stopping_{false};
};

TEST_P(HotRowTest, NothingIsLostWhileConnectionsVanishAndThePortStops) {
  const uint16_t port = server_.port->listeners().front().address().port;
  std::vector<std::unique_ptr<Buyer>> buyers;
  for (unsigned i = 0; i < kBuyers; ++i) {
    buyers.push_back(std::make_unique<Buyer>(i, GetParam(), port, sold_));
  }
  std::vector<std::thread> threads;
  for (auto& buyer : buyers) threads.emplace_back([&buyer] { buyer->Run(); });
  EXPECT_TRUE(Eventually([this] { return sold_ >= kSoldBeforeStop; }));
  std::thread holder([this] { HoldTheRow(); });
  EXPECT_TRUE(Eventually([this] { return sold_ >= 2 * kSoldBeforeStop; }));
  stopping_ = true;
  holder.join();
  EXPECT_LT(0u, server_.Stat(Stat::kMergedRequests));
  EXPECT_LT(0u, server_.Stat(Stat::kLockWaits));
  EXPECT_LT(0u, server_.Stat(Stat::kBatchRetries));
  server_.Stop();
  for (std::thread& thread : threads) thread.join();

  std::vector<int> befores;
  uint64_t unknown = 0;
  for (const auto& buyer : buyers) {
    befores.insert(befores.end(), buyer->befores.begin(), buyer->befores.end());
    for (const auto& [token, before] : buyer->tokens) befores.push_back(before);
    unknown += buyer->unknown + buyer->unknown_tokens.size();
  }
  std::sort(befores.begin(), befores.end());
  EXPECT_EQ(befores.end(), std::adjacent_find(befores.begin(), befores.end())) << "sold twice";
  EXPECT_LT(Left(), befores.front());
  const auto taken = static_cast<uint64_t>(kStock - Left());
  EXPECT_LE(befores.size(), taken);
  EXPECT_LE(taken, befores.size() + unknown);
  EXPECT_LT(0u, unknown);
  EXPECT_EQ(0u, server_.store.sessions());
}

INSTANTIATE_TEST_SUITE_P(Seeds, HotRowTest, ::testing::Range(1u, 4u));

}  // namespace
}  // namespace rowsocket::exec
