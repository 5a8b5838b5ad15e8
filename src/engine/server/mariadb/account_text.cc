#include "engine/server/account_text.h"

#include "engine/server/session_thd.h"
#include "find_account.h"
#include "local_sql.h"
#include "login_api.h"

namespace rowsocket::engine::server {

struct AccountText::Own {
  LocalSql sql;
};

AccountText::AccountText() : own_(std::make_unique<Own>()) {}
AccountText::~AccountText() = default;

// The server does not free all memory of a local statement that fails after its result's header
// (loc_read_rows in sql_prepare.cc), so that it is not asked about an account that does not exist.
std::optional<std::string> AccountText::Of(const std::string& user, const std::string& host) {
  // The server counts this thread as one of its own at a shutdown, and keeps its accounts until it
  // has ended.
  const THD_count counted;
  if (ServerStopping()) return std::nullopt;
  Security_context found;
  std::string address;
  found.init();
  if (SkipsGrantTables() || !FindExactly(&found, user, host, &address)) return "";
  return own_->sql.Value("SHOW CREATE USER " + QuotedName(user) + "@" + QuotedName(host));
}

void AccountText::Leave() {}

}  // namespace rowsocket::engine::server
