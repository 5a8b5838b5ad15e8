#include "account_text.h"

#include "find_account.h"
#include "login_api.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

// The server does not free all memory of a local statement that fails behind its result's header
// (loc_read_rows in sql_prepare.cc), so that it is not asked about an account that is not there.
std::string AccountText::Of(const std::string& user, const std::string& host) {
  // The server counts this thread as one of its own at a shutdown, and keeps its accounts until it
  // has ended.
  const THD_count counted;
  if (ServerStopping()) return "";
  Security_context found;
  std::string address;
  found.init();
  if (opt_noacl || !FindExactly(&found, user, host, &address)) return "";
  return sql_.Value("SHOW CREATE USER " + QuotedName(user) + "@" + QuotedName(host)).value_or("");
}

}  // namespace rowsocket::engine::server
