// What the server has noted about an account, as one text to compare: its row in mysql.user without
// the privileges. The plugin and what it checks passwords by, REQUIRE, limits, lock, expiry and the
// attributes are in it.
//
// Threads: any; one that has a THD reads with it. Limits: a statement that changes accounts is
// waited for.
#pragma once

#include <string>

namespace rowsocket::engine::server {

class AccountText {
 public:
  /// Empty: there is no such account.
  std::string Of(const std::string& user, const std::string& host);
};

}  // namespace rowsocket::engine::server
