// Connections of memcached on a port with workers: limits of accounts, and what workers read for
// many connections.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exec/account_limits.h"
#include "exec/latency.h"
#include "exec/test_port.h"
#include "frontend/memcached/frontend.h"

namespace rowsocket::frontend {
namespace {

using exec::LineClient;

constexpr char kRefused[] =
    "SERVER_ERROR the account has made more requests than "
    "daemon_memcached_account_requests_per_second allows\r";

class MemcachedWorkerTest : public ::testing::Test {
 protected:
  MemcachedWorkerTest() {
    test_.store.CreateTable({"test.demo", {"id", "value"}, {{"PRIMARY", {0}}}}, {{"a", "1"}});
    Define({"default"});
    settings_.account = std::make_shared<model::Account>("cache", "localhost");
    settings_.may_flush = true;
    auto keyspaces = std::make_shared<keyspace::Keyspaces>(
        keyspace::KeyspacesSettings{[](const std::string&) {}, nullptr, nullptr});
    shared_ =
        std::make_unique<MemcachedShared>(settings_, test_.stats, latency_, std::move(keyspaces));
    test_.settings.account_limits = &limits_;
    test_.settings.prepare = [this](engine::Session& session, bool now) {
      refreshes_ += now;
      if (now)
        shared_->keyspaces->catalog.RefreshNow(session);
      else
        shared_->keyspaces->catalog.Refresh(session);
      while (now ? holds_refreshes_ : holds_turns_) {
        is_held_ = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    test_.make_frontend = [this] { return std::make_unique<MemcachedFrontend>(*shared_); };
    test_.Start();
  }
  // The connections use members of this object.
  ~MemcachedWorkerTest() override { test_.Stop(); }

  /// Gives test.demo these containers.
  void Define(const std::vector<std::string>& names) {
    std::vector<engine::fake::Row> rows;
    for (const std::string& name : names)
      rows.push_back({name, "test", "demo", "id", "value", "0", "0", "0", "PRIMARY"});
    test_.store.CreateTable(
        {"innodb_memcache.containers",
         {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
          "expire_time_column", "unique_idx_name_on_key"},
         {{"PRIMARY", {0}}}},
        rows);
  }

  exec::AccountLimitSettings variables_;
  exec::AccountLimits limits_{variables_};
  MemcachedSettings settings_;
  exec::LatencyRegistry latency_{memcached::kVerbs, nullptr};
  std::atomic<unsigned> refreshes_{0};
  std::atomic<bool> holds_turns_{false};      ///< The worker waits before a turn.
  std::atomic<bool> holds_refreshes_{false};  ///< The worker waits after a refresh.
  std::atomic<bool> is_held_{false};          ///< The worker has begun to wait.
  std::unique_ptr<MemcachedShared> shared_;
  exec::PortOnFake test_;
};

TEST_F(MemcachedWorkerTest, RequestsThatAreRefusedCountAgainstTheLimitOfTheirAccount) {
  LineClient client = test_.Connect();
  const std::string known = "SERVER_ERROR there is no container nosuch\r";
  EXPECT_EQ(known, client.Ask("get @@nosuch.k\r\n"));
  variables_.requests_per_second = 1;
  const unsigned before = refreshes_;
  client.Send("get @@nosuch.k\r\nget a\r\n");
  EXPECT_EQ(known, client.ReadLine());
  EXPECT_EQ(kRefused, client.ReadLine());
  unsigned refused = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string answer = client.Ask("get @@nosuch.k\r\n");
    EXPECT_TRUE(answer == known || answer == kRefused) << answer;
    refused += answer == kRefused;
  }
  EXPECT_LT(150u, refused);
  // The mapping tables are read only for requests that are not refused for their rate.
  EXPECT_GE(201 - refused, refreshes_ - before);
  variables_.requests_per_second = 0;
  EXPECT_EQ("VALUE a 0 1\r", client.Ask("get a\r\n"));
}

TEST_F(MemcachedWorkerTest, StatsCountAgainstTheLimitOfTheirAccount) {
  LineClient client = test_.Connect();
  variables_.requests_per_second = 1;
  client.Send("get @@nosuch.k\r\nstats\r\n");
  EXPECT_EQ("SERVER_ERROR there is no container nosuch\r", client.ReadLine());
  EXPECT_EQ(kRefused, client.ReadLine());
  EXPECT_EQ("VERSION \r", client.Ask("version\r\n"));
}

// A read of the mapping tables costs more than such a request.
TEST_F(MemcachedWorkerTest, ConnectionsThatAskTogetherHaveTheMappingReadOnce) {
  constexpr size_t kClients = 300;
  std::vector<LineClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(test_.Connect());
    EXPECT_EQ("VERSION \r", clients.back().Ask("version\r\n"));
  }
  LineClient first = test_.Connect();
  const unsigned before = refreshes_;
  holds_turns_ = true;
  first.Send("version\r\n");
  EXPECT_TRUE(exec::Eventually([&] { return is_held_.load(); }));
  for (LineClient& client : clients) client.Send("get @@nosuch.k\r\nget a\r\n");
  holds_turns_ = false;
  for (LineClient& client : clients) {
    EXPECT_EQ("SERVER_ERROR there is no container nosuch\r", client.ReadLine());
    EXPECT_EQ("VALUE a 0 1\r", client.ReadLine());
  }
  EXPECT_LE(1u, refreshes_ - before);
  EXPECT_GE(5u, refreshes_ - before);
}

// The read for another connection may have missed what was committed after it.
TEST_F(MemcachedWorkerTest, AContainerThatIsThereBeforeItIsNamedIsFoundAtOnce) {
  LineClient first = test_.Connect(), second = test_.Connect();
  EXPECT_EQ("VERSION \r", second.Ask("version\r\n"));
  holds_refreshes_ = true;
  first.Send("get @@nosuch.k\r\n");
  EXPECT_TRUE(exec::Eventually([&] { return is_held_.load(); }));
  Define({"default", "new"});
  second.Send("get @@new.a\r\n");
  holds_refreshes_ = false;
  EXPECT_EQ("SERVER_ERROR there is no container nosuch\r", first.ReadLine());
  EXPECT_EQ("VALUE @@new.a 0 1\r", second.ReadLine());
  Define({"default", "new", "newer"});
  EXPECT_EQ("VALUE @@newer.a 0 1\r", first.Ask("get @@newer.a\r\n"));
}

// A server that has just started may not have read its mapping yet.
TEST_F(MemcachedWorkerTest, AFlushFindsAContainerThatIsThereBeforeIt) {
  LineClient client = test_.Connect();
  Define({});
  EXPECT_TRUE(client.Ask("get @@nosuch.k\r\n").starts_with("SERVER_ERROR "));
  EXPECT_TRUE(client.Ask("flush_all\r\n").starts_with("SERVER_ERROR "));
  Define({"default"});
  EXPECT_EQ("OK\r", client.Ask("flush_all\r\n"));
  EXPECT_EQ("END\r", client.Ask("get a\r\n"));
}

}  // namespace
}  // namespace rowsocket::frontend
