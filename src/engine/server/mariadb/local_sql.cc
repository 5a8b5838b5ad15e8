#include "local_sql.h"

#include "login_api.h"

namespace rowsocket::engine::server {

namespace {

/// How long a statement waits for a statement that is writing to its tables. For a session that has
/// locked them the server waits a second at most, because the THD has no connection.
constexpr ulong kTableWaitS = 5;

/// Makes the THD the current one of this thread, for one statement.
class OnThisThread {
 public:
  explicit OnThisThread(THD* thd) : before_(current_thd) {
    thd->thread_stack = reinterpret_cast<char*>(this);
    thd->store_globals();
  }
  ~OnThisThread() {
    set_current_thd(nullptr);
    if (before_ != nullptr) before_->store_globals();
  }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  THD* const before_;
};

/// Frees what a statement has left on the THD, even if memory runs out before its end.
struct AfterStatement {
  THD* const thd;
  ~AfterStatement() {
    thd->free_items();
    free_root(thd->mem_root, MYF(MY_KEEP_PREALLOC));
  }
};

}  // namespace

struct LocalSql::Connection {
  Connection() : thd(new THD(next_thread_id())) {
    local_connection_thread_count++;
    const OnThisThread on_this_thread(thd);
    thd->security_ctx->skip_grants();
    thd->init_for_queries();
    // Texts are UTF-8, whatever the server's default is for clients.
    thd->update_charset(system_charset_info, system_charset_info, system_charset_info);
    lex_start(thd);
    thd->variables.option_bits |= OPTION_LOG_OFF;
    thd->variables.option_bits &= ~OPTION_BIN_LOG;
    thd->variables.sql_log_slow = false;
    thd->variables.max_statement_time = 0;  // The limit is meant for statements of clients.
    // No KILL reaches the THD, and the server's shutdown and UNINSTALL wait for its statement.
    thd->variables.lock_wait_timeout = kTableWaitS;
    thd->variables.wsrep_on = false;  // The statements are about this server alone, whatever the
                                      // state of its cluster.
    thd->query_cache_is_applicable = false;
    sql_service_handler.mysql_init_func(&mysql);
    is_open = sql_service_handler.mysql_real_connect_local_func(&mysql) != nullptr;
  }
  ~Connection() {
    {
      const OnThisThread on_this_thread(thd);
      sql_service_handler.mysql_close_func(&mysql);
      thd->cleanup();
      lex_end(thd->lex);
      delete thd;
    }
    local_connection_thread_count--;
  }

  THD* const thd;
  MYSQL mysql{};
  bool is_open = false;
};

LocalSql::LocalSql() = default;
LocalSql::~LocalSql() = default;

std::optional<std::string> LocalSql::Value(const std::string& statement) {
  const base::MutexLock lock(mutex_);
  if (connection_ == nullptr) connection_ = std::make_unique<Connection>();
  if (!connection_->is_open) {
    connection_.reset();  // So the next statement tries again to open one.
    return std::nullopt;
  }
  THD* const thd = connection_->thd;
  MYSQL* const mysql = &connection_->mysql;
  const OnThisThread on_this_thread(thd);
  const AfterStatement after_statement{thd};
  thd->reset_killed();  // A KILL of an earlier statement must not end this one.
  // The session seems to have told audit plugins of all classes of events already, so that they are
  // told nothing.
  memset(thd->audit_class_mask, 0xff, sizeof(thd->audit_class_mask));
  const auto bytes = static_cast<unsigned long>(statement.size());
  if (sql_service_handler.mysql_real_query_func(mysql, statement.data(), bytes) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<MYSQL_RES, decltype(sql_service_handler.mysql_free_result_func)> result(
      sql_service_handler.mysql_store_result_func(mysql),
      sql_service_handler.mysql_free_result_func);
  if (result == nullptr) return std::nullopt;
  const MYSQL_ROW row = sql_service_handler.mysql_fetch_row_func(result.get());
  if (row == nullptr || row[0] == nullptr) return std::nullopt;
  return std::string(row[0]);
}

std::string QuotedName(const std::string& name) {
  std::string quoted = "`";
  for (const char byte : name) quoted.append(byte == '`' ? 2 : 1, byte);
  return quoted + "`";
}

}  // namespace rowsocket::engine::server
