// The contract between src/exec and the server's accounts: whether a name and a password belong to
// an account, and whether the account has changed since.
//
// Flow: on a thread for logins: Enter, { Check | End }*, Leave
//       Watch, once.
// Threads: Check and End on threads that have called Enter; they may wait for a name server or for
// an authentication plugin. `on_ended` is called on a thread of the checker's own.
// Lifetime: End takes a ticket back.
// Errors: a login that fails tells no reason; the reason is in the server's log.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/secret_text.h"
#include "model/account.h"

struct ssl_st;  // OpenSSL's SSL.

namespace rowsocket::engine {

/// What a client has sent to log in, and over which connection.
struct LoginAttempt {
  std::string user;
  base::SecretText password;
  int fd = -1;  ///< The connection's socket, which stays open while the login is checked.
  bool is_unix = false;
  sockaddr_storage address{};  ///< The client's address.
  uint16_t port = 0;           ///< The client's port.
  /// The connection's SSL object; null: the connection is not encrypted. It is OpenSSL's own
  /// because the server's authentication asks it for the cipher and the client's certificate where
  /// an account has REQUIRE.
  ssl_st* tls = nullptr;
};

/// A connection that the server counts for its account, and tells audit plugins about.
class LoginTicket {
 public:
  virtual ~LoginTicket() = default;

  /// The link of a list of tickets, so that the list needs no memory.
  std::unique_ptr<LoginTicket> next;
  /// The number of the connection in the server's events for audit plugins.
  uint64_t server_thread_id = 0;
};

/// What Check has found.
struct Login {
  std::shared_ptr<const model::Account> account;  ///< Null: refused.
  std::unique_ptr<LoginTicket> ticket;
};

class LoginChecker {
 public:
  virtual ~LoginChecker() = default;

  /// Prepares the calling thread for Check and End.
  virtual void Enter() = 0;
  /// Undoes Enter, on the same thread.
  virtual void Leave() = 0;
  /// Lets the server check the login. REQUIRES, as End does: the thread has called Enter.
  virtual Login Check(const LoginAttempt& attempt) = 0;
  /// Tells the server that the connection of the ticket has ended.
  virtual void End(std::unique_ptr<LoginTicket> ticket) = 0;
  /// Calls `on_ended` whenever accounts have ended. False if the system gives no thread for
  /// that: errno says why.
  virtual bool Watch(std::function<void()> on_ended) = 0;
};

}  // namespace rowsocket::engine
