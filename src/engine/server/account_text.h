// What the server has noted about an account, as one text to compare: the plugin and what it checks
// passwords by, REQUIRE, limits, lock, expiry and attributes are in it, privileges are not. One .cc
// for each family of servers: the answer to SHOW CREATE USER, or the account's row in mysql.user.
//
// Threads: any; in MariaDB one waits for the other. Limits: a statement that changes accounts is
// waited for, in MySQL a few seconds.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace rowsocket::engine::server {

class AccountText {
 public:
  AccountText();
  ~AccountText();
  AccountText(const AccountText&) = delete;
  AccountText& operator=(const AccountText&) = delete;

  /// What the server has noted about the account. An empty text: there is no such account. Nothing:
  /// the server does not say, because it is shutting down, or another session has locked what the
  /// server would have to read. Of the threads that have no THD one at most calls this.
  std::optional<std::string> Of(const std::string& user, const std::string& host);
  /// Frees what is kept for the thread without a THD, which calls this before it ends.
  void Leave();

 private:
  struct Own;  ///< What the family's .cc needs between calls.
  std::unique_ptr<Own> own_;
};

}  // namespace rowsocket::engine::server
