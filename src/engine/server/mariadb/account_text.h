// What the server says about an account, as one text to compare: the answer to SHOW CREATE USER.
//
// Threads: any. Limits: SHOW CREATE USER waits for LOCK_grant.
#pragma once

#include <string>

#include "local_sql.h"

namespace rowsocket::engine::server {

class AccountText {
 public:
  /// Empty: there is no such account.
  std::string Of(const std::string& user, const std::string& host);

 private:
  LocalSql sql_;
};

}  // namespace rowsocket::engine::server
