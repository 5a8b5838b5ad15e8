// What the server has noted about an account, as one text to compare: the authentication plugin and
// its data, REQUIRE, limits, lock, expiry and attributes, but not privileges. One .cc for each
// family of servers: the answer to SHOW CREATE USER, or the account's row in mysql.user.
//
// Threads: any; in MariaDB one call waits for the other.
// Limits: a call waits for a statement that changes accounts, in MySQL for a few seconds.
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

  /// What the server has noted about the account. An empty text: there is no such account. Without
  /// a value: the server does not say, because it is shutting down, or another session has locked
  /// what it would have to read. At most one thread without a THD may call this.
  std::optional<std::string> Of(const std::string& user, const std::string& host);
  /// Frees what is kept for the thread without a THD. That thread calls it before it ends.
  void Leave();

 private:
  struct Own;  ///< What the family's .cc needs between calls.
  std::unique_ptr<Own> own_;
};

}  // namespace rowsocket::engine::server
