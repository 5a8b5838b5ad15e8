#include "engine/server/slow_log.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "api.h"

namespace rowsocket::engine::server {

namespace {

/// The account and address that the log shows. They do not move as long as the thread lives,
/// because SHOW PROCESSLIST reads the names of a session without a lock.
struct Shown {
  alignas(Security_context) char context[sizeof(Security_context)];
  char user[USERNAME_LENGTH + 1];
  char address[HOSTNAME_LENGTH + 1];
};

template <size_t kSize>
void Copy(std::string_view text, char (&room)[kSize]) {
  const size_t size = std::min(text.size(), kSize - 1);
  memcpy(room, text.data(), size);
  room[size] = '\0';
}

Security_context* ContextOf(THD* thd, const SlowRequest& request) {
  static thread_local Shown shown;
  auto* const context = new (shown.context) Security_context(*thd->security_ctx);
  Copy(request.user.empty() ? std::string_view(context->priv_user) : request.user, shown.user);
  Copy(request.address, shown.address);
  context->user = shown.user;
  Copy(shown.user, context->priv_user);
  const bool is_local = request.address == "localhost";
  context->host = is_local ? shown.address : "";
  context->ip = is_local ? "" : shown.address;
  return context;
}

}  // namespace

int64_t LongQueryUs() { return static_cast<int64_t>(LongQueryTime()); }

bool TakesSlowLog(const SlowRequest& request) {
  const system_variables& global = global_system_variables;
  if (!global.sql_log_slow) return false;
  // A request is of one kind alone that log_slow_filter names, query_cache_miss.
  const bool passes_filter = global.log_slow_filter == 0 || (global.log_slow_filter & QPLAN_QC_NO);
  if (!passes_filter) return false;
  if (IsAlwaysLogged(request.whole_us)) return true;
  if (request.examined < global.min_examined_row_limit) return false;
  static std::atomic<ulong> requests{0};
  return global.log_slow_rate_limit <= 1 || requests++ % global.log_slow_rate_limit == 0;
}

void WriteSlowLog(THD* thd, const SlowRequest& request) {
  Security_context* const own = thd->security_ctx;
  const LEX_CSTRING own_db = thd->db;
  const ulonglong now = microsecond_interval_timer();
  thd->security_ctx = ContextOf(thd, request);
  const bool has_schema = !request.schema.empty();
  const LEX_CSTRING schema{has_schema ? request.schema.data() : nullptr, request.schema.size()};
  thd->reset_db(&schema);  // Takes the lock under which the process list is shown.
  thd->start_utime = now - request.whole_us;
  thd->utime_after_lock = thd->start_utime + request.lock_us;
  thd->start_time = static_cast<my_time_t>(request.began_s);
  thd->start_time_sec_part = 0;
  thd->enable_slow_log = true;
  thd->variables.sql_log_slow = true;  // A SET GLOBAL may be newer than this session.
  thd->affected_rows = request.writes ? request.rows : 0;
  thd->set_sent_row_count(request.writes ? 0 : request.rows);
  SetExaminedRows(thd, request.examined);
  const auto size = static_cast<uint>(request.text.size());
  // The log's table converts texts from this character set.
  CHARSET_INFO* const own_charset = thd->variables.character_set_client;
  thd->variables.character_set_client = &my_charset_utf8mb4_bin;
  slow_log_print(thd, request.text.data(), size, now);
  thd->variables.character_set_client = own_charset;
  thd->affected_rows = 0;
  thd->set_sent_row_count(0);
  SetExaminedRows(thd, 0);
  thd->reset_db(&own_db);
  thd->security_ctx = own;
}

}  // namespace rowsocket::engine::server
