// The harness with which the contract suite runs on the engine in a server.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "api.h"
#include "engine/contract/harness.h"
#include "engine/server/session_factory.h"
#include "plugin/contract/refusing_engine.h"
#include "plugin/contract/sql.h"
#include "plugin/contract/table_definition.h"
#include "server_facts.h"

namespace rowsocket::engine::contract {
namespace {

using plugin::contract::Sql;

constexpr std::chrono::seconds kTestTimeout{20};
constexpr std::chrono::milliseconds kPollInterval{5};
constexpr char kTableName[] = "contract.t";
/// A transaction with this many changed rows is heavier than that of any test; in a deadlock InnoDB
/// ends the lighter one.
constexpr int kHeavyRows = 200;

const std::map<NotMergeable, TableDefinition>& Definitions() {
  static const std::map<NotMergeable, TableDefinition> definitions = [] {
    std::map<NotMergeable, TableDefinition> all = {
        {NotMergeable::kNone, {}},
        {NotMergeable::kTable, {"", "PARTITION BY HASH(id) PARTITIONS 3"}},
        {NotMergeable::kTrigger, {}},
        {NotMergeable::kUniqueKey, {", UNIQUE (v)", ""}},
        {NotMergeable::kForeignKey, {", FOREIGN KEY (v) REFERENCES contract.parent (v)", ""}},
        {NotMergeable::kGenerated, {", g BIGINT AS (v + 1) VIRTUAL", ""}},
        {NotMergeable::kCheck, {", CHECK (v > -1000000)", ""}},
    };
    all.merge(OwnTables());
    return all;
  }();
  return definitions;
}

/// The prefixes of these columns leave less than 800 bytes of a row to the others.
std::string Fillers() {
  std::string columns;
  for (int i = 0; i < 10; ++i) {
    columns += ", filler" + std::to_string(i) + " TEXT DEFAULT (REPEAT('f', 767))";
  }
  return columns;
}

std::string Literal(const std::optional<std::string>& cell) {
  return cell ? "'" + *cell + "'" : "NULL";
}

std::string OfRow(const std::string& id) {
  return std::string(" FROM ") + kTableName + " WHERE id = " + id + " FOR UPDATE";
}

/// A connection that ends its transaction and unlocks its tables when this object dies.
class SqlHold final : public Hold {
 public:
  SqlHold(const std::vector<std::string>& queries, std::string last)
      : sql_(mysqld_unix_port), last_(std::move(last)) {
    for (const std::string& query : queries) sql_.Run(query);
  }
  ~SqlHold() override { sql_.Run(last_); }

 private:
  Sql sql_;
  const std::string last_;
};

/// The sum of these counters of the server. `names`: 'a', 'b'.
std::string SumOf(Sql& sql, const std::string& names) {
  return sql.Value("SELECT CAST(SUM(VARIABLE_VALUE) AS UNSIGNED) FROM " +
                   std::string(kStatusTable) + " WHERE VARIABLE_NAME IN (" + names + ")");
}

bool AwaitLockWait() {
  Sql sql(mysqld_unix_port);
  const auto until = std::chrono::steady_clock::now() + kTestTimeout;
  while (std::chrono::steady_clock::now() < until) {
    if (SumOf(sql, "'Innodb_row_lock_current_waits'") != "0") return true;
    std::this_thread::sleep_for(kPollInterval);
  }
  return false;
}

/// A heavy transaction that holds the row `wanted` and waits for the row `held`.
class DeadlockHold final : public Hold {
 public:
  DeadlockHold(const std::string& held, const std::string& wanted) : sql_(mysqld_unix_port) {
    sql_.Run("BEGIN");
    sql_.Run("UPDATE contract.heavy SET n = n + 1");
    sql_.Run("SELECT id" + OfRow(wanted));
    waits_ = std::thread([this, held] { sql_.Run("SELECT id" + OfRow(held)); });
    EXPECT_TRUE(AwaitLockWait());
  }
  ~DeadlockHold() override {
    waits_.join();
    sql_.Run("ROLLBACK");
  }

 private:
  Sql sql_;
  std::thread waits_;
};

/// The sessions' factory and what belongs to it: one for all tests, as in the plugin.
struct Engine {
  IndexRegistry indexes;
  server::ServerSessionFactory factory{
      server::SessionSettings{12, {"contract", /*shows_padding=*/true}}, indexes};
};

class ServerHarness final : public Harness {
 public:
  ServerHarness() : sql_(mysqld_unix_port) {
    sql_.Run("SET innodb_strict_mode = OFF, foreign_key_checks = OFF");
    sql_.Run("CREATE DATABASE IF NOT EXISTS contract");
    sql_.Run("CREATE TABLE IF NOT EXISTS contract.heavy (n INT) ENGINE=InnoDB");
    if (sql_.Value("SELECT COUNT(*) FROM contract.heavy") == "0") {
      std::string rows = "(0)";
      for (int i = 1; i < kHeavyRows; ++i) rows += ",(0)";
      sql_.Run("INSERT INTO contract.heavy VALUES " + rows);
    }
    lock_wait_s_ = sql_.Value("SELECT @@GLOBAL.innodb_lock_wait_timeout");
  }
  ~ServerHarness() override {
    sql_.Run("SET GLOBAL innodb_lock_wait_timeout = " + lock_wait_s_);
    // The variables are restored in reverse, because a limit that was lowered later bounds
    // variables that were set before it.
    for (auto query = restored_.rbegin(); query != restored_.rend(); ++query) sql_.Run(*query);
  }

  SessionFactory& factory() override {
    static Engine engine;
    return engine.factory;
  }
  std::vector<NotMergeable> reasons() const override {
    std::vector<NotMergeable> reasons = ReasonsOfTables();
    std::erase_if(reasons, [](NotMergeable reason) { return !Definitions().contains(reason); });
    return reasons;
  }

  void CreateTable(const TableKind& kind, const std::vector<Row>& rows) override {
    if (made_ == kind) {  // Far quicker than making the table anew.
      sql_.Run(std::string("DELETE FROM ") + kTableName);
      Fill(rows);
      return;
    }
    made_ = kind;
    const TableDefinition& definition = Definitions().at(kind.not_mergeable);
    sql_.Run(std::string("DROP TABLE IF EXISTS ") + kTableName + ", contract.parent");
    // While MySQL counts the statistics of a table anew, a session that waits for no lock cannot
    // open the table: the server holds the metadata locks of its histograms for a moment.
    sql_.Run(
        "CREATE TABLE contract.parent (v BIGINT PRIMARY KEY) ENGINE=InnoDB STATS_AUTO_RECALC=0");
    sql_.Run("INSERT INTO contract.parent VALUES (5), (10), (11), (20)");
    sql_.Run(std::string("CREATE TABLE ") + kTableName +
             " (id BIGINT AUTO_INCREMENT PRIMARY KEY, v BIGINT, w " +
             (kind.is_compact ? "VARCHAR(255)" : "TEXT") + ", INDEX by_v (v)" + definition.more +
             (kind.is_narrow ? Fillers() : "") + ") " +
             (definition.options.empty() ? "ENGINE=InnoDB ROW_FORMAT=COMPACT CHARACTER SET latin1"
                                         : definition.options));
    Fill(rows);
    if (kind.not_mergeable == NotMergeable::kTrigger) {
      sql_.Run(std::string("CREATE TRIGGER contract.before_update BEFORE UPDATE ON ") + kTableName +
               " FOR EACH ROW SET NEW.w = NEW.w");
    }
  }
  void AddColumn() override {
    made_.reset();
    sql_.Run(std::string("ALTER TABLE ") + kTableName + " ADD COLUMN x INT");
  }

  std::string Dump() override {
    return sql_.Value(std::string("SELECT GROUP_CONCAT(id, ',', IFNULL(v, 'NULL'), ',',"
                                  " IFNULL(w, 'NULL'), ';' ORDER BY id SEPARATOR '') FROM ") +
                      kTableName);
  }
  uint64_t RowsWritten() override {
    return std::stoull(SumOf(sql_, "'Handler_write', 'Handler_update', 'Handler_delete'"));
  }
  void SetV(const std::string& id, const std::string& v) override {
    sql_.Run(std::string("UPDATE ") + kTableName + " SET v = " + v + " WHERE id = " + id);
  }
  std::unique_ptr<Hold> InsertRow(const std::string& id) override {
    return Holding(
        {"BEGIN", std::string("INSERT INTO ") + kTableName + " (id) VALUES (" + id + ")"},
        "COMMIT");
  }

  std::unique_ptr<Hold> LockRow(const std::string& id) override {
    return Holding({"BEGIN", "SELECT id" + OfRow(id)}, "ROLLBACK");
  }
  std::unique_ptr<Hold> LockTable() override {
    return Holding({std::string("LOCK TABLES ") + kTableName + " WRITE"}, "UNLOCK TABLES");
  }
  bool CanLockRow(const std::string& id) override {
    return sql_.Try("SELECT id" + OfRow(id) + " NOWAIT") == 0;
  }
  // The timeout is a second: the least that every server can wait for a table.
  bool CanLockTable() override {
    Sql sql(mysqld_unix_port);
    sql.Run("SET lock_wait_timeout = 1");
    if (sql.Try(std::string("LOCK TABLES ") + kTableName + " WRITE") != 0) return false;
    sql.Run("UNLOCK TABLES");  // When a connection ends, the server gives its locks back only
                               // later.
    return true;
  }

  bool AwaitWaiting() override { return AwaitLockWait(); }
  void ShortenLockWait() override { sql_.Run("SET GLOBAL innodb_lock_wait_timeout = 1"); }
  std::unique_ptr<Hold> PrepareDeadlock(const std::string& held,
                                        const std::string& wanted) override {
    return std::make_unique<DeadlockHold>(held, wanted);
  }
  void FailCommitOfThisTurn() override { plugin::contract::FailCommitOfThisTransaction(); }
  void FailEndRow() override {}  // The harness needs no hook: the row does not fit into a page.
  void ShrinkLog() override {
    for (const char* name : {"binlog_cache_size", "max_binlog_cache_size"}) {
      const std::string variable = std::string("@@GLOBAL.") + name;
      restored_.push_back("SET " + variable + " = " + sql_.Value("SELECT " + variable));
      sql_.Run("SET " + variable + " = 4096");
    }
  }
  void SetRights(const model::Account& account, Rights rights) override {
    const std::string name = "'" + account.user() + "'@'" + account.host() + "'";
    const std::string on_it = std::string(" ON ") + kTableName + " TO " + name;
    sql_.Run("CREATE USER IF NOT EXISTS " + name);
    sql_.Run("REVOKE ALL, GRANT OPTION FROM " + name);
    if (rights != Rights::kNone) sql_.Run("GRANT SELECT" + on_it);
    if (rights == Rights::kSelectAndUpdateV) sql_.Run("GRANT UPDATE (v)" + on_it);
  }
  void KillStatement(const std::string& description) override {
    sql_.Run("KILL QUERY " + ThreadOf(description));
  }
  void KillSession(const std::string& description) override {
    sql_.Run("KILL " + ThreadOf(description));
  }

 private:
  void Fill(const std::vector<Row>& rows) {
    std::string values;
    for (const Row& row : rows) {
      values += (values.empty() ? "(" : ", (") + Literal(row[0]) + ", " + Literal(row[1]) + ", " +
                Literal(row[2]) + ")";
    }
    sql_.Run(std::string("INSERT INTO ") + kTableName + " (id, v, w) VALUES " + values);
  }
  static std::unique_ptr<Hold> Holding(const std::vector<std::string>& queries,
                                       const std::string& last) {
    return std::make_unique<SqlHold>(queries, last);
  }
  std::string ThreadOf(const std::string& description) {
    return sql_.Value(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE '%: " + description + "'");
  }

  Sql sql_;
  std::string lock_wait_s_;
  std::vector<std::string> restored_;  ///< The statements that restore the server's variables.
  std::optional<TableKind> made_;      ///< The kind of the table, unless the table was altered.
};

}  // namespace

std::unique_ptr<Harness> MakeHarness() { return std::make_unique<ServerHarness>(); }

}  // namespace rowsocket::engine::contract
