// What the server has noted about an account, as one text to compare: the plugin and what it checks
// passwords by, REQUIRE, limits, lock, expiry and attributes are in it, privileges are not. One .cc
// for each family of servers: the answer to SHOW CREATE USER, or the account's row in mysql.user.
//
// Threads: any; in MariaDB one waits for the other. Limits: a statement that changes accounts is
// waited for.
#pragma once

#include <memory>
#include <string>

namespace rowsocket::engine::server {

class AccountText {
 public:
  AccountText();
  ~AccountText();
  AccountText(const AccountText&) = delete;
  AccountText& operator=(const AccountText&) = delete;

  /// Empty: there is no such account, or the server is shutting down.
  std::string Of(const std::string& user, const std::string& host);

 private:
  struct Own;  ///< What the family's .cc needs between calls.
  std::unique_ptr<Own> own_;
};

}  // namespace rowsocket::engine::server
