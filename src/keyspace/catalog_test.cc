#include "keyspace/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "engine/fake/session.h"
#include "exec/test_notification.h"
#include "model/limits.h"

namespace rowsocket::keyspace {
namespace {

using engine::ColumnFacts;
using engine::fake::Row;
using Kind = ColumnFacts::Kind;

ColumnFacts Of(Kind kind, uint32_t decimals = 0) {
  ColumnFacts facts;
  facts.kind = kind;
  facts.decimals = decimals;
  return facts;
}

ColumnFacts CaseInsensitive() {
  ColumnFacts facts = Of(Kind::kText);
  facts.is_binary = false;
  return facts;
}

ColumnFacts Narrow() {
  ColumnFacts facts = Of(Kind::kInteger);
  facts.bytes = 4;
  return facts;
}

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() {
    store_.CreateTable({"test.demo",
                        {"k", "v", "w", "flags", "cas", "expires", "ci"},
                        {{"PRIMARY", {0}}, {"by_v", {1}}, {"by_ci", {6}}},
                        false,
                        false,
                        {{"flags", Narrow()},
                         {"cas", Of(Kind::kDateTime, 6)},
                         {"expires", Of(Kind::kDecimal, 3)},
                         {"ci", CaseInsensitive()}}});
    store_.CreateTable({"innodb_memcache.config_options", {"name", "value"}, {{"PRIMARY", {0}}}},
                       {{"separator", "#"}, {"durability.aaa", "relaxed"}});
  }

  /// Begins the first read on a thread of its own, where it waits for may_go_on_.
  std::thread HoldUpFirstRead() {
    store_.SetHook([this](const engine::fake::Call& call) {
      if (call.kind == engine::fake::Call::Kind::kBeginTurn && call.number == 1) {
        begun_.Notify();
        may_go_on_.Wait();
      }
      return engine::Outcome();
    });
    std::thread first([this] { catalog_.Refresh(session_); });
    EXPECT_TRUE(begun_.Wait());
    return first;
  }

  void Define(const std::vector<Row>& rows) {
    store_.CreateTable({"innodb_memcache.containers",
                        {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags",
                         "cas_column", "expire_time_column", "unique_idx_name_on_key"},
                        {{"PRIMARY", {0}}}},
                       rows);
  }
  std::shared_ptr<const Snapshot> Read() {
    catalog_.RefreshNow(session_);
    return catalog_.current();
  }
  static Row Demo(const std::string& name) {
    return {name, "test", "demo", "k", "v", "flags", "cas", "expires", "PRIMARY"};
  }
  std::string ProblemOf(const Row& row) {
    Define({row});
    const auto snapshot = Read();
    return snapshot->containers.size() == 1 ? snapshot->containers[0]->problem : "not there";
  }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  std::vector<std::string> log_;
  exec::Notification begun_, may_go_on_;
  Catalog catalog_{[this](const std::string& text) { log_.push_back(text); }};
};

TEST_F(CatalogTest, TheLogIsNotToldOfMissingTablesThatNobodyExpects) {
  EXPECT_TRUE(Read()->containers.empty());
  EXPECT_TRUE(log_.empty());
}

TEST_F(CatalogTest, WithoutTablesNothingIsMappedAndTheLogSaysWhy) {
  catalog_.ExpectContainers();
  EXPECT_TRUE(Read()->containers.empty());
  EXPECT_NE(std::string::npos, Read()->config.problem.find("innodb_memcache.containers"));
  EXPECT_EQ(1u, log_.size());
}

// The thread that reads first is held up until the other one has returned, or has had time to.
TEST_F(CatalogTest, TheFirstReadIsWaitedForByThreadsThatNeedIt) {
  Define({Demo("aaa")});
  std::promise<void> returned;
  std::thread first = HoldUpFirstRead();
  uint64_t version_seen = 0;
  std::thread second([&] {
    engine::fake::Session session{store_, engine::LockWait::kNever};
    catalog_.Refresh(session);
    version_seen = catalog_.version();
    returned.set_value();
  });
  returned.get_future().wait_for(std::chrono::milliseconds(200));
  may_go_on_.Notify();
  first.join();
  second.join();
  EXPECT_EQ(1u, version_seen);
}

// As when the first read has to repair a crashed table: whoever waits for it goes on meanwhile.
TEST_F(CatalogTest, AReadThatDoesNotEndIsNotWaitedForWithoutLimit) {
  std::thread first = HoldUpFirstRead();
  const auto returned = [this](auto refresh) {
    return std::async(std::launch::async, [this, refresh] {
      engine::fake::Session session{store_, engine::LockWait::kNever};
      refresh(session);
      return catalog_.version();
    });
  };
  auto due = returned([this](engine::Session& session) { catalog_.Refresh(session); });
  auto now = returned([this](engine::Session& session) { catalog_.RefreshNow(session); });
  EXPECT_EQ(std::future_status::ready, due.wait_for(std::chrono::seconds(60)));
  EXPECT_EQ(std::future_status::ready, now.wait_for(std::chrono::seconds(60)));
  may_go_on_.Notify();
  first.join();
  EXPECT_EQ(0u, due.get());
  EXPECT_EQ(0u, now.get());
  EXPECT_EQ(1u, catalog_.version());
}

TEST_F(CatalogTest, ADefinitionIsFoundByItsNameAndKnowsItsColumns) {
  Define({Demo("aaa"), Demo("default")});
  const auto snapshot = Read();
  ASSERT_EQ(2u, snapshot->containers.size());
  const Container& container = *snapshot->Find("aaa");
  EXPECT_EQ("", container.problem);
  EXPECT_EQ('#', container.separator);
  EXPECT_TRUE(container.relaxed);
  EXPECT_EQ(CasKind::kTime, container.cas_kind);
  EXPECT_EQ(ExpiryKind::kFraction, container.expiry);
  EXPECT_EQ(4u, container.full_layout.columns);
  EXPECT_EQ(3u, container.get_layout.columns);
  EXPECT_EQ("default", snapshot->first->name());
  EXPECT_FALSE(snapshot->Find("default")->relaxed);
  EXPECT_EQ(nullptr, snapshot->Find("zzz"));
}

TEST_F(CatalogTest, ColumnsAreJoinedByTheConfiguredSeparatorOrNotAtAll) {
  Row two = Demo("aaa");
  two[4] = "v,w";
  // An escaped N would be the text of NULL.
  for (const char* separator : {"::", "\\", " ", "N"}) {
    store_.CreateTable({"innodb_memcache.config_options", {"name", "value"}, {{"PRIMARY", {0}}}},
                       {{"separator", separator}});
    EXPECT_EQ("", ProblemOf(Demo("aaa"))) << separator;
    EXPECT_EQ(
        "separator in innodb_memcache.config_options must be one visible character other than a "
        "backslash or N",
        ProblemOf(two))
        << separator;
  }
}

TEST_F(CatalogTest, WithoutADefaultTheFirstContainerIsUsed) {
  Define({Demo("bbb"), Demo("aaa")});
  EXPECT_EQ("aaa", Read()->first->name());
}

TEST_F(CatalogTest, TheLogIsToldOfRowsThatAreTooMany) {
  std::vector<Row> rows;
  for (uint32_t i = 0; i < model::kMappingRowsMax; ++i)
    rows.push_back(Demo("c" + std::to_string(1000 + i)));
  Define(rows);
  EXPECT_EQ(size_t{model::kMappingRowsMax}, Read()->containers.size());
  EXPECT_TRUE(log_.empty());
  rows.push_back(Demo("d"));
  Define(rows);
  const auto snapshot = Read();
  EXPECT_EQ(size_t{model::kMappingRowsMax}, snapshot->containers.size());
  EXPECT_EQ(nullptr, snapshot->Find("d"));
  const std::string told =
      "innodb_memcache.containers has more than 1000 rows: those after 'c1999' are not served";
  EXPECT_EQ(told, snapshot->config.left_out);
  EXPECT_EQ(1, std::count(log_.begin(), log_.end(), told));
}

TEST_F(CatalogTest, AFaultDisablesItsContainerAlone) {
  Row wrong = Demo("bbb");
  wrong[4] = "nothing";
  Define({Demo("aaa"), wrong});
  const auto snapshot = Read();
  EXPECT_TRUE(snapshot->Find("aaa")->usable());
  EXPECT_EQ("test.demo has no column nothing", snapshot->Find("bbb")->problem);
  Read();
  EXPECT_EQ(1, std::count(log_.begin(), log_.end(),
                          "container bbb is disabled: test.demo has no column nothing"));
}

TEST_F(CatalogTest, EachFaultIsNamed) {
  const auto with = [](size_t column, const char* text) {
    Row row = Demo("aaa");
    row[column] = text;
    return row;
  };
  EXPECT_EQ("there is no table test.gone", ProblemOf(with(2, "gone")));
  EXPECT_EQ("test.demo has no index gone (unique_idx_name_on_key)", ProblemOf(with(8, "gone")));
  EXPECT_EQ("index by_v is not unique", ProblemOf(with(8, "by_v")));
  EXPECT_EQ("index PRIMARY is not over exactly the key_columns", ProblemOf(with(3, "w")));
  EXPECT_EQ("index PRIMARY is not over exactly the key_columns", ProblemOf(with(3, "k,w")));
  EXPECT_EQ("column k is named twice", ProblemOf(with(4, "k")));
  EXPECT_EQ("value_columns is empty", ProblemOf(with(4, "")));
  EXPECT_EQ("flags column w must be an integer", ProblemOf(with(5, "w")));
  EXPECT_EQ("cas_column w must be BIGINT UNSIGNED or DATETIME(6)", ProblemOf(with(6, "w")));
  Row narrow = with(6, "flags");
  narrow[5] = "0";
  EXPECT_EQ("cas_column flags must be BIGINT UNSIGNED or DATETIME(6)", ProblemOf(narrow));
  EXPECT_EQ("expire_time_column w must be an integer or DECIMAL of seconds since 1970",
            ProblemOf(with(7, "w")));
  EXPECT_EQ("", ProblemOf(with(7, "0")));
}

TEST_F(CatalogTest, AGeneratedColumnIsNoPartOfAnItem) {
  ColumnFacts generated = Of(Kind::kBytes);
  generated.is_generated = true;
  store_.CreateTable(
      {"test.made", {"k", "v", "g"}, {{"PRIMARY", {0}}}, false, false, {{"g", generated}}});
  EXPECT_EQ("value column g is generated",
            ProblemOf({"aaa", "test", "made", "k", "v,g", "0", "0", "0", "PRIMARY"}));
  store_.CreateTable(
      {"test.made", {"g", "v"}, {{"PRIMARY", {0}}}, false, false, {{"g", generated}}});
  EXPECT_EQ("key column g is generated",
            ProblemOf({"aaa", "test", "made", "g", "v", "0", "0", "0", "PRIMARY"}));
  const std::pair<size_t, const char*> others[] = {
      {5, "flags column g is generated"},
      {6, "cas_column g is generated"},
      {7, "expire_time_column g is generated"},
  };
  for (const auto& [column, why] : others) {
    ColumnFacts right = column == 6 ? Of(Kind::kDateTime, 6) : Of(Kind::kInteger);
    right.is_generated = true;
    store_.CreateTable(
        {"test.made", {"k", "v", "g"}, {{"PRIMARY", {0}}}, false, false, {{"g", right}}});
    Row row = {"aaa", "test", "made", "k", "v", "0", "0", "0", "PRIMARY"};
    row[column] = "g";
    EXPECT_EQ(why, ProblemOf(row));
  }
}

TEST_F(CatalogTest, AKeyThatIsNotByteExactIsRefused) {
  store_.CreateTable(
      {"test.ci", {"k", "v"}, {{"PRIMARY", {0}}}, false, false, {{"k", CaseInsensitive()}}});
  EXPECT_NE(std::string::npos, ProblemOf({"aaa", "test", "ci", "k", "v", "0", "0", "0", "PRIMARY"})
                                   .find("a collation that takes different keys for equal"));
}

TEST_F(CatalogTest, AChangeMakesANewVersionAndKeepsTheCounters) {
  Define({Demo("aaa")});
  const auto before = Read();
  before->Find("aaa")->state->counters.hits = 5;
  EXPECT_EQ(before, Read());
  Row changed = Demo("aaa");
  changed[4] = "v,w";
  Define({changed});
  const auto after = Read();
  EXPECT_GT(after->version, before->version);
  EXPECT_EQ(2u, after->Find("aaa")->values);
  EXPECT_EQ(5u, after->Find("aaa")->state->counters.hits);
  EXPECT_EQ(1u, before->Find("aaa")->values);
}

TEST_F(CatalogTest, ALockedMappingChangesNothing) {
  Define({Demo("aaa")});
  const auto before = Read();
  const auto locked = store_.LockTable("innodb_memcache.containers");
  EXPECT_EQ(before, Read());
}

TEST_F(CatalogTest, CachesAreRefusedAndDisabledIsKept) {
  Define({Demo("aaa")});
  store_.CreateTable({"innodb_memcache.cache_policies",
                      {"policy_name", "get_policy", "set_policy", "delete_policy", "flush_policy"},
                      {{"PRIMARY", {0}}}},
                     {{"cache_policy", "innodb_only", "caching", "disabled", "innodb_only"}});
  const Options& options = Read()->config.options;
  EXPECT_EQ("", options.get_refusal);
  EXPECT_NE(std::string::npos, options.set_refusal.find("says caching for set"));
  EXPECT_EQ("delete_policy of innodb_memcache.cache_policies does not allow this command",
            options.delete_refusal);
  EXPECT_EQ("", options.flush_refusal);
  EXPECT_EQ(options.set_refusal, options.policy_problem);
}

TEST_F(CatalogTest, TheLongestPrefixOfAKeyCounts) {
  Define({Demo("aaa")});
  store_.CreateTable({"rowsocket.keyspaces",
                      {"prefix", "kind", "container", "db_schema", "db_table", "db_index", "fields",
                       "if_absent", "read_only"},
                      {{"PRIMARY", {0}}}},
                     {{"a:", "value", "aaa", "", "", "", "", "insert", "0"},
                      {"a:b:", "row", "", "test", "demo", "by_v", "v, w", "refuse", "1"},
                      {"c", "value", "nowhere", "", "", "", "", "insert", "2"},
                      {"", "value", "aaa", "", "", "", "", "insert", "0"}});
  const auto snapshot = Read();
  const Keyspace* const item = snapshot->FindKeyspace("a:b");
  ASSERT_NE(nullptr, item);
  EXPECT_EQ(snapshot->Find("aaa"), item->container);
  EXPECT_FALSE(item->definition->read_only);
  const Keyspace* const row = snapshot->FindKeyspace("a:b:c");
  ASSERT_NE(nullptr, row);
  EXPECT_EQ(KeyspaceDefinition::Kind::kRow, row->definition->kind);
  EXPECT_EQ((std::vector<std::string>{"v", "w"}), row->definition->fields);
  EXPECT_TRUE(row->definition->read_only);
  EXPECT_FALSE(row->definition->inserts);
  EXPECT_EQ(nullptr, snapshot->FindKeyspace("c:1")->container);
  EXPECT_TRUE(snapshot->FindKeyspace("c:1")->definition->read_only) << "any number but 0 is true";
  EXPECT_EQ(nullptr, snapshot->FindKeyspace("b:1")) << "an empty prefix means nothing";
  EXPECT_EQ(nullptr, snapshot->FindKeyspace(""));
}

// A table of an older version has no column that says when rows expire.
TEST_F(CatalogTest, RowsOfAPrefixExpireByAColumnThatHoldsATime) {
  Define({});
  const std::vector<std::string> old = {"prefix",   "kind",   "container", "db_schema", "db_table",
                                        "db_index", "fields", "if_absent", "read_only"};
  const Row row = {"p/",         "row",        std::nullopt, "test", "demo",
                   std::nullopt, std::nullopt, "insert",     "0"};
  store_.CreateTable({"rowsocket.keyspaces", old, {{"PRIMARY", {0}}}}, {row});
  auto snapshot = Read();
  ASSERT_NE(nullptr, snapshot->FindKeyspace("p/1"));
  EXPECT_EQ(nullptr, snapshot->FindKeyspace("p/1")->container);

  std::vector<std::string> columns = old;
  columns.push_back("expires");
  const auto expire_by = [&](const char* column, const char* index) {
    Row with = row;
    with[5] = index;
    with.push_back(column);
    store_.DropTable("rowsocket.keyspaces");
    store_.CreateTable({"rowsocket.keyspaces", columns, {{"PRIMARY", {0}}}}, {with});
    return Read()->FindKeyspace("p/1")->container;
  };
  const Container* container = expire_by("expires", "PRIMARY");
  ASSERT_NE(nullptr, container);
  EXPECT_EQ("", container->problem);
  EXPECT_EQ(ExpiryKind::kFraction, container->expiry);
  EXPECT_EQ(1u, container->key.size());
  EXPECT_EQ(nullptr, catalog_.current()->Find(container->title())) << "memcached cannot name it";
  EXPECT_EQ("index by_ci is not unique", expire_by("expires", "by_ci")->problem);
  EXPECT_EQ("test.demo has no index none", expire_by("expires", "none")->problem);
  EXPECT_EQ("test.demo has no column gone", expire_by("gone", "PRIMARY")->problem);
  EXPECT_EQ("column k is part of the key", expire_by("k", "PRIMARY")->problem);
  EXPECT_EQ("column v must be an integer or DECIMAL of seconds since 1970",
            expire_by("v", "PRIMARY")->problem);
  EXPECT_EQ(
      "rowsocket.keyspaces: keyspace 'p/' is disabled: column v must be an integer or DECIMAL of "
      "seconds since 1970",
      log_.back());
}

// KILL QUERY while a table is being opened says nothing about the table.
TEST_F(CatalogTest, AKilledLookChangesNothing) {
  Define({Demo("one")});
  const auto before = Read();
  ASSERT_TRUE(before->Find("one")->usable());
  for (const std::string table : {"containers", "cache_policies", "config_options", "demo"}) {
    store_.SetHook([table](const engine::fake::Call& call) {
      const bool is_it =
          call.kind == engine::fake::Call::Kind::kOpenIndex && call.names->table == table;
      return is_it ? engine::fake::Killed() : engine::Outcome();
    });
    catalog_.MarkStale();
    EXPECT_EQ(before, Read()) << table;
  }
  store_.SetHook({});
  EXPECT_EQ(before->Find("one"), Read()->Find("one"));
}

// Too many open files, for instance.
TEST_F(CatalogTest, ATableThatCannotBeOpenedNowStaysAsItWasRead) {
  Define({Demo("one")});
  store_.CreateTable({"rowsocket.keyspaces",
                      {"prefix", "kind", "container", "db_schema", "db_table", "db_index", "fields",
                       "if_absent", "read_only", "expires"},
                      {{"PRIMARY", {0}}}},
                     {{"o:", "value", "one", "", "", "", "", "insert", "1", ""}});
  const auto before = Read();
  ASSERT_NE(nullptr, before->FindKeyspace("o:1"));
  for (const std::string table : {"containers", "cache_policies", "config_options", "keyspaces"}) {
    log_.clear();
    store_.SetHook([table](const engine::fake::Call& call) {
      const bool is_it =
          call.kind == engine::fake::Call::Kind::kOpenIndex && call.names->table == table;
      return is_it ? engine::Outcome::Of(model::Error::CannotOpen(24)) : engine::Outcome();
    });
    EXPECT_EQ(before, Read()) << table;
    EXPECT_EQ(before, Read()) << table;
    ASSERT_EQ(1u, log_.size()) << table;
    EXPECT_TRUE(log_[0].ends_with("." + table +
                                  " cannot be opened (error 24): what was read of the mapping "
                                  "tables before still counts"))
        << log_[0];
    store_.SetHook({});
    EXPECT_EQ(before, Read()) << table;
  }
}

// Every turn of every worker calls Refresh.
TEST_F(CatalogTest, ATableThatCannotBeOpenedIsNotTriedInEachTurn) {
  store_.SetHook([](const engine::fake::Call& call) {
    return call.kind == engine::fake::Call::Kind::kOpenIndex
               ? engine::Outcome::Of(model::Error::CannotOpen(24))
               : engine::Outcome();
  });
  const uint64_t before = store_.calls(engine::fake::Call::Kind::kOpenIndex);
  for (int i = 0; i < 1000; ++i) catalog_.Refresh(session_);
  const uint64_t tried = store_.calls(engine::fake::Call::Kind::kOpenIndex) - before;
  EXPECT_GE(tried, 1u);
  EXPECT_LT(tried, 500u);
  EXPECT_EQ(
      std::vector<std::string>{"innodb_memcache.containers cannot be opened (error 24): until "
                               "it can be, RESP serves no keys"},
      log_);
}

TEST_F(CatalogTest, TheLogSaysThatATableOfKeyspacesLacksColumns) {
  Define({});
  store_.CreateTable({"rowsocket.keyspaces", {"prefix", "kind"}, {{"PRIMARY", {0}}}});
  Read();
  ASSERT_EQ(1u, log_.size());
  EXPECT_EQ("rowsocket.keyspaces cannot be read (fld): none of its rows counts", log_[0]);
}

}  // namespace
}  // namespace rowsocket::keyspace
