// A MemcachedFrontend on the in-memory engine, asked request by request. For tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/fake/session.h"
#include "frontend/memcached/frontend.h"
#include "keyspace/housekeeper.h"
#include "model/version.h"

namespace rowsocket::frontend {
using engine::ColumnFacts;
using engine::fake::Row;
using exec::Item;
using Parsed = exec::Frontend::Parsed;
using Kind = ColumnFacts::Kind;

inline ColumnFacts Of(Kind kind, uint32_t decimals = 0, bool nullable = false) {
  ColumnFacts facts;
  facts.kind = kind;
  facts.decimals = decimals;
  facts.is_nullable = nullable;
  return facts;
}

class MemcachedTest : public ::testing::Test {
 protected:
  MemcachedTest() {
    store_.CreateTable({"test.demo",
                        {"id", "value", "flags", "cas", "expires"},
                        {{"PRIMARY", {0}}},
                        false,
                        false,
                        {{"flags", Of(Kind::kInteger)},
                         {"cas", Of(Kind::kDateTime, 6)},
                         {"expires", Of(Kind::kDecimal, 3, true)}}});
    MakePairs(/*permanent=*/false);
    const Row demo = {"default", "test", "demo",    "id",     "value",
                      "flags",   "cas",  "expires", "PRIMARY"};
    const Row pairs = {"pairs", "test", "pairs", "a,b", "v w", "0", "0", "0", "PRIMARY"};
    Row broken = demo;
    broken[0] = "broken";
    broken[4] = "nothing";
    Define({demo, pairs, broken});
    settings_.may_flush = true;
    settings_.version = model::kMemcachedVersion;
    Connect();
  }

  void MakePairs(bool permanent) {
    store_.CreateTable({"test.pairs",
                        {"a", "b", "v", "w"},
                        {{"PRIMARY", {0, 1}}},
                        false,
                        permanent,
                        {{"b", Of(Kind::kInteger)}}});
  }
  void Define(const std::vector<Row>& rows) {
    store_.CreateTable({"innodb_memcache.containers",
                        {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags",
                         "cas_column", "expire_time_column", "unique_idx_name_on_key"},
                        {{"PRIMARY", {0}}}},
                       rows);
  }
  void SetPolicies(const std::string& get, const std::string& set, const std::string& remove,
                   const std::string& flush) {
    store_.CreateTable(
        {"innodb_memcache.cache_policies",
         {"policy_name", "get_policy", "set_policy", "delete_policy", "flush_policy"},
         {{"PRIMARY", {0}}}},
        {{"cache_policy", get, set, remove, flush}});
    shared_->keyspaces->catalog.RefreshNow(session_);
  }
  void Connect() {
    auto keyspaces = std::make_shared<keyspace::Keyspaces>(
        keyspace::KeyspacesSettings{[this](const std::string& line) {
                                      if (log_ != nullptr) log_(line);
                                    },
                                    utc_offset_s_, why_no_housekeeping_});
    keyspaces->SetClockOffset(&clock_offset_ms_);
    shared_ =
        std::make_unique<MemcachedShared>(settings_, exec_stats_, latency_, std::move(keyspaces));
    frontend_ = std::make_unique<MemcachedFrontend>(*shared_);
  }

  /// Executes one request within the turn that the session has begun, and returns the reply.
  static std::string ExecuteIn(engine::Session& session, MemcachedFrontend& frontend,
                               std::string_view command) {
    base::Arena arena;
    base::Buffer out;
    Item item;
    frontend.Parse(command, false, arena, &item);
    EXPECT_TRUE(frontend.Execute(item, session, out).ok());
    frontend.Finished(item, {});
    return std::string(out.view());
  }
  /// Executes one request in a turn that only reads, and returns the reply.
  static std::string Read(engine::Session& session, MemcachedFrontend& frontend,
                          std::string_view command) {
    session.BeginTurn(false);
    const std::string reply = ExecuteIn(session, frontend, command);
    EXPECT_TRUE(session.Commit().ok());
    return reply;
  }
  /// Executes all requests of the input, each in a turn of its own, and returns the replies.
  std::string Ask(std::string_view input) {
    std::string replies;
    while (!input.empty()) {
      base::Arena arena;
      base::Buffer out;
      Item item;
      const exec::Frontend::Step step = frontend_->Parse(input, false, arena, &item);
      if (item.kind == Item::Kind::kRefresh) {
        EXPECT_EQ(0u, step.consumed);
        frontend_->Rewind();
        shared_->keyspaces->catalog.RefreshNow(session_);
        continue;
      }
      EXPECT_EQ(Parsed::kItem, step.parsed) << input;
      if (step.parsed != Parsed::kItem) return "incomplete";
      model::Error answer;
      if (item.kind == Item::Kind::kRequest)
        answer = Execute(item, out);
      else
        frontend_->Reply(item, out);
      frontend_->Finished(item, answer);
      replies.append(out.view());
      input.remove_prefix(step.consumed);
    }
    return replies;
  }
  model::Error Execute(const Item& item, base::Buffer& out) {
    session_.BeginTurn(item.request.is_write());
    const engine::Outcome outcome = frontend_->Execute(item, session_, out);
    if (outcome.transaction_lost)
      session_.Rollback();
    else
      EXPECT_TRUE(session_.Commit().ok());
    return outcome.error;
  }
  std::string Set(const std::string& key, const std::string& value, const std::string& exptime) {
    return Ask("set " + key + " 0 " + exptime + " " + std::to_string(value.size()) + "\r\n" +
               value + "\r\n");
  }
  /// The item's cas, as `gets` answers it.
  std::string Cas(const std::string& key) {
    const std::string reply = Ask("gets " + key + "\r\n");
    const size_t end = reply.find("\r\n");
    return reply.substr(reply.rfind(' ', end) + 1, end - reply.rfind(' ', end) - 1);
  }
  keyspace::HousekeeperRules Purging(unsigned rows_per_second) const {
    return {{settings_.account, "daemon_memcached_user", rows_per_second,
             [this](uint64_t rows) { shared_->counters.Add(MemcachedStat::kPurged, rows); }},
            {}};
  }
  void MoveClock(int64_t seconds) { clock_offset_ms_ += seconds * 1000; }

  engine::fake::Store store_;
  engine::fake::SessionFactory sessions_{store_};
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  exec::StatRegistry exec_stats_;
  exec::LatencyRegistry latency_{memcached::kVerbs, nullptr};
  std::atomic<int64_t> clock_offset_ms_{0};
  std::function<void(const std::string&)> log_;  ///< Null: nothing is logged.
  std::function<int64_t(int64_t)> utc_offset_s_;
  std::function<engine::NoHousekeeping()> why_no_housekeeping_;
  MemcachedSettings settings_;
  std::unique_ptr<MemcachedShared> shared_;
  std::unique_ptr<MemcachedFrontend> frontend_;
};

}  // namespace rowsocket::frontend
