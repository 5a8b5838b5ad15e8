// What a worker does if accounts have limits.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "exec/account_limits.h"
#include "frontend/handlersocket/exec_test/test_commits.h"
#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;
using model::Account;

constexpr const char kRefused[] = "1\t1\taccount_requests_per_second";

std::string Repeated(const std::string& line, unsigned count) {
  std::string lines;
  for (unsigned i = 0; i < count; ++i) lines += line;
  return lines;
}

class WorkerAccountsTest : public ::testing::Test {
 protected:
  WorkerAccountsTest() {
    server_.settings.account_limits = &limits_;
    server_.make_frontend = [this] {
      auto made = std::make_unique<frontend::HandlerSocketFrontend>(server_.frontend);
      made->SetAccount(accounts_[next_]);
      return made;
    };
  }
  // The hook and the frontends use members of this object.
  ~WorkerAccountsTest() override { server_.Stop(); }

  LineClient ConnectAs(size_t account) {
    next_ = account;
    return server_.ConnectAndOpen();
  }
  /// The most requests of account 0 that one turn has executed.
  struct Largest {
    std::mutex mutex;
    std::map<std::thread::id, unsigned> now;
    unsigned requests = 0;
  };
  void NoteLargest() {
    server_.store.SetHook([this](const Call& call) {
      const std::lock_guard lock(largest_.mutex);
      unsigned& now = largest_.now[std::this_thread::get_id()];
      if (call.kind == Call::Kind::kBeginTurn) now = 0;
      const bool is_meant =
          call.kind == Call::Kind::kExecute && call.request->account == accounts_[0].get();
      if (is_meant) largest_.requests = std::max(largest_.requests, ++now);
      return Outcome();
    });
  }

  AccountLimitSettings variables_;
  AccountLimits limits_{variables_};
  const std::array<std::shared_ptr<const Account>, 3> accounts_{
      std::make_shared<Account>("one", "%"), std::make_shared<Account>("two", "%"), nullptr};
  std::atomic<size_t> next_{0};
  Largest largest_;
  TestPort server_;
};

TEST_F(WorkerAccountsTest, RequestsBeyondTheRateAreRefusedOneByOne) {
  constexpr unsigned kPerSecond = 5;
  constexpr unsigned kRequests = 2000;
  server_.Start();
  LineClient limited = ConnectAs(0);
  LineClient other = ConnectAs(1);
  LineClient unlimited = ConnectAs(2);
  variables_.requests_per_second = kPerSecond;
  const auto began = std::chrono::steady_clock::now();
  limited.Send(Repeated(kFind1, kRequests / 2) + Repeated(Add(2), kRequests / 2));
  unsigned finds = 0, adds = 0;
  for (unsigned i = 0; i < kRequests; ++i) {
    const std::string answer = limited.ReadLine();
    if (answer == kRefused) continue;
    EXPECT_EQ(i < kRequests / 2 ? kRow1 : "0\t1\t1", answer);
    ++(i < kRequests / 2 ? finds : adds);
  }
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  EXPECT_GE(finds + adds, kPerSecond);
  EXPECT_LE(finds + adds, kPerSecond * (2 + static_cast<unsigned>(seconds.count())));
  EXPECT_EQ(kRow1, other.Ask(kFind1));
  unlimited.Send(Repeated(kFind1, 100));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(kRow1, unlimited.ReadLine());
  variables_.requests_per_second = 0;
  EXPECT_EQ(kRow1, limited.Ask(kFind1));
  server_.Stop();
  EXPECT_EQ(kRequests - finds - adds, server_.Stat(ErrorStat(model::ErrorCode::kAccountRate)));
}

TEST_F(WorkerAccountsTest, OpensCountAsRequests) {
  variables_.requests_per_second = 1;
  server_.Start();
  LineClient client = ConnectAs(0);
  client.Send(Repeated(kOpenIdV, 100));
  unsigned refused = 0;
  for (int i = 0; i < 100; ++i) refused += client.ReadLine() == kRefused;
  EXPECT_GT(refused, 0u);
}

TEST_F(WorkerAccountsTest, AsksForATokenCountAsRequests) {
  server_.frontend.serves_tokens = true;
  server_.store.CreateTable({"rowsocket.tokens",
                             {"token", "request", "answer", "created"},
                             {{"PRIMARY", {0}}, {"created", {3}}}});
  server_.Start();
  LineClient client = ConnectAs(0);
  variables_.requests_per_second = 1;
  client.Send(Repeated("T\ta\t?\n", 50) + Repeated("T\ta\t!\n", 50));
  unsigned refused = 0;
  for (int i = 0; i < 100; ++i) refused += client.ReadLine() == kRefused;
  EXPECT_GT(refused, 0u);
}

/// GRANTs may follow each other so fast that a session that does not wait never finds the grants
/// free.
TEST_F(WorkerAccountsTest, AnOpenForWhichTheLaneHasWaitedIsAnswered) {
  server_.store.SetHook([](const Call& call) {
    const bool is_locked =
        call.kind == Call::Kind::kJudge && call.lock_wait == engine::LockWait::kNever;
    if (!is_locked) return Outcome();
    Outcome busy = Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockTables});
    busy.waits_elsewhere = true;
    return busy;
  });
  server_.Start();
  LineClient client = ConnectAs(0);
  EXPECT_EQ(1u, server_.Stat(Stat::kLockWaits));
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ(1u, server_.Stat(Stat::kOpens));
  const auto list = std::make_shared<ConnectionList>(server_.settings.workers);
  server_.port->List(list);
  const std::vector<ConnectionInfo> connections = list->Await(std::chrono::seconds(20));
  ASSERT_EQ(1u, connections.size());
  EXPECT_EQ(2u, connections.front().requests);
  EXPECT_EQ(0u, connections.front().errors);
}

TEST_F(WorkerAccountsTest, AnAccountHasItsShareOfATurnAndOfABatch) {
  variables_.share_percent = 1;
  const unsigned places = limits_.places_max();
  constexpr unsigned kConnections = 12, kRequests = 60;
  ASSERT_GT(kRequests, places);
  server_.Start();
  std::vector<LineClient> many;
  for (unsigned i = 0; i < kConnections; ++i) many.push_back(ConnectAs(0));
  LineClient other = ConnectAs(1);
  NoteLargest();
  // Connections that have just written are read in another way than others.
  for (const bool writes : {false, true, false}) {
    const std::string request = writes ? Add(2) : kFind1;
    for (LineClient& client : many) client.Send(Repeated(request, kRequests));
    other.Send(Repeated(request, kRequests));
    for (LineClient& client : many) {
      for (unsigned i = 0; i < kRequests; ++i)
        EXPECT_EQ(writes ? "0\t1\t1" : kRow1, client.ReadLine());
    }
    for (unsigned i = 0; i < kRequests; ++i)
      EXPECT_EQ(writes ? "0\t1\t1" : kRow1, other.ReadLine());
    EXPECT_GT(largest_.requests, 0u);
    EXPECT_LE(largest_.requests, places) << (writes ? "writes" : "finds");
    largest_.requests = 0;
  }
  EXPECT_EQ("0\t2\t2\t" + std::to_string(20 + (kConnections + 1) * kRequests),
            other.Ask("0\t=\t1\t2\n"));
}

TEST_F(WorkerAccountsTest, AConnectionForWhichTheShareHasNoPlaceComesFirstInTheNextTurn) {
  variables_.share_percent = 1;
  const unsigned places = limits_.places_max();
  std::atomic<bool> has_begun{false}, may_go_on{false};
  std::atomic<unsigned> executed{0}, before_last{0};
  server_.store.SetHook([&](const Call& call) {
    if (call.kind != Call::Kind::kExecute) return Outcome();
    has_begun = true;
    EXPECT_TRUE(Eventually([&] { return may_go_on.load(); }));
    if (call.request->find.key.front().text() == "2") before_last = executed.load();
    ++executed;
    return Outcome();
  });
  server_.Start();
  LineClient busy = ConnectAs(0);
  LineClient late = ConnectAs(0);
  const unsigned finds = 20 * places;
  busy.Send(Repeated(kFind1, finds));
  EXPECT_TRUE(Eventually([&] { return has_begun.load(); }));
  late.Send("0\t=\t1\t2\n");
  may_go_on = true;
  EXPECT_EQ("0\t2\t2\t20", late.ReadLine());
  for (unsigned i = 0; i < finds; ++i) EXPECT_EQ(kRow1, busy.ReadLine());
  EXPECT_LE(before_last, 4 * places);
  server_.Stop();
}

}  // namespace
}  // namespace rowsocket::exec
