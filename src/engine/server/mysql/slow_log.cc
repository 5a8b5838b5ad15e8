#include "engine/server/slow_log.h"

#include <string>

#include "api.h"
#include "wait_hook.h"

namespace rowsocket::engine::server {

int64_t LongQueryUs() { return static_cast<int64_t>(global_system_variables.long_query_time); }

bool TakesSlowLog(const SlowRequest& request) {
  return opt_slow_log && request.examined >= global_system_variables.min_examined_row_limit;
}

void WriteSlowLog(THD* thd, const SlowRequest& request) {
  Security_context* const own = thd->security_context();
  const LEX_CSTRING own_db = thd->db();
  Security_context shown(*own);
  // Copies with a zero byte at the end, up to which the server reads these names.
  const std::string user(request.user), address(request.address);
  if (!user.empty()) {
    shown.set_user_ptr(user.c_str(), user.size());
    shown.assign_priv_user(user.c_str(), user.size());
  }
  const bool is_local = address == "localhost";
  shown.set_host_ptr(is_local ? address.c_str() : "", is_local ? address.size() : 0);
  shown.set_ip_ptr(is_local ? "" : address.c_str(),
                   static_cast<int>(is_local ? 0 : address.size()));
  thd->set_security_context(&shown);
  thd->reset_db({request.schema.empty() ? nullptr : request.schema.data(), request.schema.size()});
  thd->start_time = {request.began_s, 0};
  thd->enable_slow_log = true;
  thd->set_sent_row_count(request.writes ? 0 : request.rows);
  // No function sets the count, so the difference is added; it may wrap, and the sum is right all
  // the same.
  thd->inc_examined_row_count(request.examined - thd->get_examined_row_count());
  // The log's table is locked by one writer at a time. A wait for it must not be canceled as the
  // wait for a row is: the line would be lost, and the next request of this worker would end as if
  // it were killed.
  THD* const refusing = WaitHook::AllowWaits();
  // The log's table converts texts from this character set.
  const CHARSET_INFO* const own_charset = thd->variables.character_set_client;
  thd->variables.character_set_client = &my_charset_utf8mb4_bin;
  query_logger.slow_log_write(thd, request.text.data(), request.text.size(), /*aggregate=*/true,
                              request.lock_us, request.whole_us);
  thd->variables.character_set_client = own_charset;
  WaitHook::RefuseWaits(refusing);
  thd->set_sent_row_count(0);
  thd->reset_db(own_db);
  thd->set_security_context(own);
}

}  // namespace rowsocket::engine::server
