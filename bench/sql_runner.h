// A thread that keeps one SQL statement in flight on each of its connections, through MariaDB
// Connector/C's non-blocking calls and epoll: it serves thousands of connections without a thread
// for each.
//
// Flow: Connect: one connection after the other, blocking; prologue; prepared statement. Per
//       statement: Start -> query or execute -> result -> Finish, where each step either is done at
//       once or returns the events that it waits for; OnReady goes on with the step.
// Threads: see runner.h.
#pragma once

#include <mysql.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/runner.h"
#include "bench/sql_statement.h"

namespace rowsocket::bench {

class SqlRunner : public Runner {
 public:
  SqlRunner(const Options& options, Shared* shared, Share share);
  ~SqlRunner() override;

  bool Connect(std::string* error) override;

 protected:
  void Fill(size_t number, int64_t now) override;
  void OnReady(void* tag, uint32_t events) override;

 private:
  enum class Step : uint8_t { kIdle, kQuery, kStore, kExecute, kStoreExecuted };

  struct Connection {
    size_t number = 0;
    MYSQL* mysql = nullptr;
    MYSQL_STMT* statement = nullptr;
    Step step = Step::kIdle;
    Sent sent;
    std::vector<uint64_t> keys;
    uint64_t built = 0;
    uint32_t watched = 0;  ///< Events that epoll reports.
    int failed = 0;        ///< Results of the calls in progress.
    MYSQL_RES* result = nullptr;
    size_t done = 0;    ///< Statements of the request that are done.
    std::string query;  ///< The text, which the connection keeps until it is sent.
    // The key, which is bound to the prepared statement.
    uint64_t key_number = 0;
    std::vector<char> key_text;
    unsigned long key_bytes = 0;
    std::vector<std::vector<char>> cells;
    std::vector<unsigned long> cell_bytes;
  };

  bool Open(Connection* connection, std::string* error);
  bool Prepare(Connection* connection, std::string* error);
  bool BindKey(Connection* connection);
  bool BindCells(Connection* connection);
  void Start(Connection* connection, int64_t since);
  /// Goes on after a step. `waits_for` is what the step has returned: 0 when it is done.
  void GoOn(Connection* connection, int waits_for);
  int NextStep(Connection* connection);
  /// Sends what comes after a statement without rows; 0 when the request is done.
  int GoToNextStatement(Connection* connection);
  void Watch(Connection* connection, int waits_for);
  void Finish(Connection* connection, Verdict verdict);
  void FinishWithError(Connection* connection, unsigned number, const char* text);
  Verdict CheckResult(Connection* connection);
  Verdict CheckExecuted(Connection* connection);
  bool FindColumns(MYSQL_RES* result);
  void Lose(Connection* connection);

  SqlStatement statement_;
  std::vector<Connection> connections_;
  std::vector<size_t> columns_;  ///< The positions of the options' columns in a result.
};

}  // namespace rowsocket::bench
