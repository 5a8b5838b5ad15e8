// Connections of memcached on a port with workers, where accounts have limits.
#include <gtest/gtest.h>

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
    test_.store.CreateTable(
        {"innodb_memcache.containers",
         {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
          "expire_time_column", "unique_idx_name_on_key"},
         {{"PRIMARY", {0}}}},
        {{"default", "test", "demo", "id", "value", "0", "0", "0", "PRIMARY"}});
    settings_.account = std::make_shared<model::Account>("cache", "localhost");
    auto keyspaces = std::make_shared<keyspace::Keyspaces>(
        keyspace::Settings{[](const std::string&) {}, nullptr, nullptr});
    shared_ =
        std::make_unique<MemcachedShared>(settings_, test_.stats, latency_, std::move(keyspaces));
    test_.settings.account_limits = &limits_;
    test_.settings.prepare = [this](engine::Session& session, bool now) {
      refreshes_ += now;
      if (now)
        shared_->keyspaces->catalog.RefreshNow(session);
      else
        shared_->keyspaces->catalog.Refresh(session);
    };
    test_.make_frontend = [this] { return std::make_unique<MemcachedFrontend>(*shared_); };
    test_.Start();
  }
  // The connections use members of this object.
  ~MemcachedWorkerTest() override { test_.Stop(); }

  exec::AccountLimitSettings variables_;
  exec::AccountLimits limits_{variables_};
  MemcachedSettings settings_;
  exec::LatencyRegistry latency_{memcached::kVerbs, nullptr};
  std::atomic<unsigned> refreshes_{0};
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
  // The mapping tables are read for requests alone that are not refused for their rate.
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

}  // namespace
}  // namespace rowsocket::frontend
