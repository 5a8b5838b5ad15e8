#include "bench/sql_runner.h"

#include <errmsg.h>
#include <sys/epoll.h>

#include <cstring>

#include "bench/sockets.h"

namespace rowsocket::bench {
namespace {

uint32_t EventsOf(int waits_for) {
  return ((waits_for & MYSQL_WAIT_READ) != 0 ? EPOLLIN : 0u) |
         ((waits_for & MYSQL_WAIT_WRITE) != 0 ? EPOLLOUT : 0u);
}

int WaitsOf(uint32_t events) {
  return ((events & ~uint32_t{EPOLLOUT}) != 0 ? MYSQL_WAIT_READ : 0) |
         ((events & EPOLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0);
}

bool IsLostConnection(unsigned number) {
  return number == CR_SERVER_GONE_ERROR || number == CR_SERVER_LOST ||
         number == CR_SERVER_LOST_EXTENDED;
}

std::string ErrorText(unsigned number, const char* text) {
  return std::to_string(number) + " " + text;
}

}  // namespace

SqlRunner::SqlRunner(const Options& options, Shared* shared, Share share)
    : Runner(options, share),
      statement_(options, shared, options.seed * 1000 + share.number),
      connections_(share.connections) {}

SqlRunner::~SqlRunner() {
  for (Connection& connection : connections_) {
    if (connection.step != Step::kIdle)
      continue;  // A call is under way: the connection ends with the process.
    if (connection.statement != nullptr) mysql_stmt_close(connection.statement);
    if (connection.mysql != nullptr) mysql_close(connection.mysql);
  }
}

bool SqlRunner::Connect(std::string* error) {
  if (!OpenEpoll(error)) return false;
  for (size_t i = 0; i < connections_.size(); ++i) {
    connections_[i].number = i;
    connections_[i].keys.resize(statement_.KeysPerRequest());
    if (!Open(&connections_[i], error)) return false;
  }
  return true;
}

bool SqlRunner::Open(Connection* connection, std::string* error) {
  connection->mysql = mysql_init(nullptr);
  MYSQL* mysql = connection->mysql;
  mysql_options(mysql, MYSQL_OPT_NONBLOCK, nullptr);
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  const bool local = !options_.socket_path.empty();
  if (mysql_real_connect(mysql, local ? "localhost" : options_.host.c_str(), options_.user.c_str(),
                         options_.password.c_str(), options_.db.c_str(), options_.port,
                         local ? options_.socket_path.c_str() : nullptr, 0) == nullptr) {
    *error = ErrorText(mysql_errno(mysql), mysql_error(mysql));
    return false;
  }
  const std::string prologue = statement_.Prologue();
  if (!prologue.empty() && mysql_real_query(mysql, prologue.data(), prologue.size()) != 0) {
    *error = ErrorText(mysql_errno(mysql), mysql_error(mysql));
    return false;
  }
  if (!prologue.empty()) mysql_free_result(mysql_store_result(mysql));
  if (!statement_.Prepared().empty() && !Prepare(connection, error)) return false;
  connection->watched = EPOLLIN;
  epoll_event event = {EPOLLIN, {connection}};
  if (epoll_ctl(epoll(), EPOLL_CTL_ADD, mysql_get_socket(mysql), &event) != 0) {
    *error = std::string("epoll_ctl: ") + strerror(errno);
    return false;
  }
  return true;
}

bool SqlRunner::Prepare(Connection* connection, std::string* error) {
  const std::string text = statement_.Prepared();
  connection->statement = mysql_stmt_init(connection->mysql);
  MYSQL_STMT* statement = connection->statement;
  if (mysql_stmt_prepare(statement, text.data(), text.size()) != 0) {
    *error = ErrorText(mysql_stmt_errno(statement), mysql_stmt_error(statement));
    return false;
  }
  if (!BindKey(connection) || !BindCells(connection)) {
    *error = ErrorText(mysql_stmt_errno(statement), mysql_stmt_error(statement));
    return false;
  }
  return true;
}

// Binds the key once: binding again would send the types with each execution.
bool SqlRunner::BindKey(Connection* connection) {
  connection->key_text.resize(options_.key.MaxBytes());
  MYSQL_BIND key = {};
  if (options_.key_text == "{n}") {
    key.buffer_type = MYSQL_TYPE_LONGLONG;
    key.buffer = &connection->key_number;
    key.is_unsigned = 1;
  } else {
    key.buffer_type = MYSQL_TYPE_STRING;
    key.buffer = connection->key_text.data();
    key.buffer_length = connection->key_text.size();
    key.length = &connection->key_bytes;
  }
  return mysql_stmt_bind_param(connection->statement, &key) == 0;
}

bool SqlRunner::BindCells(Connection* connection) {
  const size_t count = options_.columns.size();
  connection->cells.resize(count);
  connection->cell_bytes.resize(count);
  std::vector<MYSQL_BIND> results(count);
  for (size_t i = 0; i < count; ++i) {
    connection->cells[i].resize(options_.values[i].MaxBytes() + 1);
    results[i] = {};
    results[i].buffer_type = MYSQL_TYPE_STRING;
    results[i].buffer = connection->cells[i].data();
    results[i].buffer_length = connection->cells[i].size();
    results[i].length = &connection->cell_bytes[i];
  }
  return count == 0 || mysql_stmt_bind_result(connection->statement, results.data()) == 0;
}

void SqlRunner::Fill(size_t number, int64_t now) {
  Connection* connection = &connections_[number];
  int64_t since = 0;
  // The server may answer each Start at once, which makes room for the next Start.
  while (connection->step == Step::kIdle && connection->mysql != nullptr &&
         MayBuild(number, connection->built, now, &since)) {
    Start(connection, since);
  }
}

void SqlRunner::Start(Connection* connection, int64_t since) {
  connection->query = statement_.Build(&connection->sent, connection->keys.data());
  connection->sent.since_ns = since;
  connection->done = 0;
  ++connection->built;
  CountBuilt();
  if (connection->statement == nullptr) {
    connection->step = Step::kQuery;
    GoOn(connection, mysql_real_query_start(&connection->failed, connection->mysql,
                                            connection->query.data(), connection->query.size()));
    return;
  }
  connection->key_number = connection->sent.key;
  connection->key_bytes = connection->query.size();
  memcpy(connection->key_text.data(), connection->query.data(), connection->query.size());
  connection->step = Step::kExecute;
  GoOn(connection, mysql_stmt_execute_start(&connection->failed, connection->statement));
}

void SqlRunner::GoOn(Connection* connection, int waits_for) {
  while (waits_for == 0 && connection->step != Step::kIdle) waits_for = NextStep(connection);
  if (connection->mysql != nullptr && waits_for != 0) Watch(connection, waits_for);
}

// Begins the step that follows a step that is done. Returns the events that the new step waits for.
int SqlRunner::NextStep(Connection* connection) {
  MYSQL* mysql = connection->mysql;
  MYSQL_STMT* statement = connection->statement;
  switch (connection->step) {
    case Step::kIdle:
      return 0;
    case Step::kQuery:
      if (connection->failed != 0) {
        FinishWithError(connection, mysql_errno(mysql), mysql_error(mysql));
        return 0;
      }
      if (mysql_field_count(mysql) == 0) return GoToNextStatement(connection);
      connection->step = Step::kStore;
      return mysql_store_result_start(&connection->result, mysql);
    case Step::kStore:
      if (connection->result == nullptr) {
        FinishWithError(connection, mysql_errno(mysql), mysql_error(mysql));
        return 0;
      }
      Finish(connection, CheckResult(connection));
      return 0;
    case Step::kExecute:
      if (connection->failed == 0) {
        connection->step = Step::kStoreExecuted;
        return mysql_stmt_store_result_start(&connection->failed, statement);
      }
      [[fallthrough]];
    case Step::kStoreExecuted:
      if (connection->failed != 0) {
        FinishWithError(connection, mysql_stmt_errno(statement), mysql_stmt_error(statement));
      } else {
        Finish(connection, CheckExecuted(connection));
      }
      return 0;
  }
  return 0;
}

int SqlRunner::GoToNextStatement(Connection* connection) {
  MYSQL* mysql = connection->mysql;
  const uint64_t rows = mysql_affected_rows(mysql);
  if (!statement_.has_steps()) {
    Finish(connection, statement_.CheckAffected(rows));
    return 0;
  }
  connection->query = statement_.Next(++connection->done, rows, connection->sent);
  if (connection->query.empty()) {
    Finish(connection, SqlStatement::CheckSteps(connection->done));
    return 0;
  }
  return mysql_real_query_start(&connection->failed, mysql, connection->query.data(),
                                connection->query.size());
}

void SqlRunner::OnReady(void* tag, uint32_t events) {
  auto* connection = static_cast<Connection*>(tag);
  if (connection->mysql == nullptr) return;
  const int ready = WaitsOf(events);
  int waits_for = 0;
  switch (connection->step) {
    case Step::kIdle:
      Lose(connection);  // an idle connection expects no event: the server has closed it
      return;
    case Step::kQuery:
      waits_for = mysql_real_query_cont(&connection->failed, connection->mysql, ready);
      break;
    case Step::kStore:
      waits_for = mysql_store_result_cont(&connection->result, connection->mysql, ready);
      break;
    case Step::kExecute:
      waits_for = mysql_stmt_execute_cont(&connection->failed, connection->statement, ready);
      break;
    case Step::kStoreExecuted:
      waits_for = mysql_stmt_store_result_cont(&connection->failed, connection->statement, ready);
      break;
  }
  GoOn(connection, waits_for);
  Fill(connection->number, NowNs());
}

void SqlRunner::Watch(Connection* connection, int waits_for) {
  const uint32_t events = EventsOf(waits_for);
  if (events == connection->watched) return;
  connection->watched = events;
  epoll_event event = {events, {connection}};
  epoll_ctl(epoll(), EPOLL_CTL_MOD, mysql_get_socket(connection->mysql), &event);
}

void SqlRunner::Finish(Connection* connection, Verdict verdict) {
  if (verdict == Verdict::kMismatch) {
    tally().CountMismatch(connection->sent.key, "another result than " + connection->query);
  }
  CountReply(connection->number, verdict, statement_.RowsPerReply(), connection->sent.since_ns,
             NowNs());
  connection->step = Step::kIdle;
}

void SqlRunner::FinishWithError(Connection* connection, unsigned number, const char* text) {
  if (IsLostConnection(number)) {
    Lose(connection);
    return;
  }
  tally().CountError(ErrorText(number, text));
  // BEGIN of the next request would commit what the failed one has done.
  if (statement_.has_steps()) mysql_rollback(connection->mysql);
  Finish(connection, Verdict::kError);
}

bool SqlRunner::FindColumns(MYSQL_RES* result) {
  const MYSQL_FIELD* fields = mysql_fetch_fields(result);
  const unsigned count = mysql_num_fields(result);
  columns_.clear();
  for (const std::string& column : options_.columns) {
    size_t at = 0;
    while (at < count && column != fields[at].name) ++at;
    if (at == count) return false;
    columns_.push_back(at);
  }
  return true;
}

Verdict SqlRunner::CheckResult(Connection* connection) {
  MYSQL_RES* result = connection->result;
  connection->result = nullptr;
  bool right = statement_.returns_rows();
  if (right && columns_.size() != options_.columns.size()) right = FindColumns(result);
  const size_t expected = right ? statement_.ExpectedRows(connection->keys.data()) : 0;
  right = right && mysql_num_rows(result) == expected;
  for (size_t row = 0; right && row < expected; ++row) {
    const MYSQL_ROW cells = mysql_fetch_row(result);
    const unsigned long* bytes = mysql_fetch_lengths(result);
    for (size_t i = 0; right && i < columns_.size(); ++i) {
      const char* cell = cells[columns_[i]];
      right = cell != nullptr &&
              statement_.CheckCell(connection->keys.data(), row, i, {cell, bytes[columns_[i]]});
    }
  }
  mysql_free_result(result);
  return right ? Verdict::kRight : Verdict::kMismatch;
}

Verdict SqlRunner::CheckExecuted(Connection* connection) {
  MYSQL_STMT* statement = connection->statement;
  bool right = mysql_stmt_num_rows(statement) == 1 && mysql_stmt_fetch(statement) == 0;
  for (size_t i = 0; right && i < options_.columns.size(); ++i) {
    right = statement_.CheckCell(connection->keys.data(), 0, i,
                                 {connection->cells[i].data(), connection->cell_bytes[i]});
  }
  mysql_stmt_free_result(statement);
  return right ? Verdict::kRight : Verdict::kMismatch;
}

void SqlRunner::Lose(Connection* connection) {
  if (connection->statement != nullptr) mysql_stmt_close(connection->statement);
  mysql_close(connection->mysql);
  connection->statement = nullptr;
  connection->mysql = nullptr;
  CountLost(connection->step == Step::kIdle ? 0 : 1);
  connection->step = Step::kIdle;
}

std::unique_ptr<Runner> MakeSqlRunner(const Options& options, Shared* shared, Share share) {
  return std::make_unique<SqlRunner>(options, shared, share);
}

}  // namespace rowsocket::bench
