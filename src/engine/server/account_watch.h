// The accounts in use, and whether each is unchanged since its connections logged in.
//
// Flow: Fingerprint before a login; Use after it -> a thread compares the fingerprints every
//       kAccountsLookMsMin, or less often if there are many accounts; an account that has
//       changed or is gone is ended, and its users are told
//
// A fingerprint is a text of the server's (account_text.h): the authentication plugins and their
// data, REQUIRE, the limits, the lock, the expiry. An account that is dropped and made again as it
// was between two looks goes on, and so does an account about which the server gives no answer.
//
// Errors: if memory runs out, the next look does what is left.
// Threads: any; the looks and `on_ended` are on a thread of its own.
// Lifetime: accounts are forgotten when no connection has them any more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/server/account_text.h"
#include "model/account.h"

namespace rowsocket::engine::server {

/// The account of a login whose rights count, and the account that logged in, which differs if
/// an authentication plugin has named another one (a proxy user).
struct LoginIdentity {
  std::string user, host, role;
  std::string login_user, login_host;
};

class AccountWatch {
 public:
  AccountWatch() = default;
  ~AccountWatch() { Stop(); }
  AccountWatch(const AccountWatch&) = delete;
  AccountWatch& operator=(const AccountWatch&) = delete;

  /// Starts the thread. False if the system gives none: errno says why.
  bool Start(std::function<void()> on_ended);
  void Stop();

  /// The account's fingerprint; empty: there is no such account, or the server does not say.
  std::string Fingerprint(const std::string& user, const std::string& host) {
    return text_.Of(user, host).value_or("");
  }
  /// The account of a login. Null if the account that logged in has changed since its fingerprint
  /// was `before`, if one of the two accounts is gone, or if the server does not say.
  std::shared_ptr<const model::Account> Use(const LoginIdentity& identity,
                                            const std::string& before);

 private:
  struct Watched {
    LoginIdentity identity;
    std::weak_ptr<const model::Account> account;
    std::string fingerprint;
  };

  /// What AccountText::Of says about both accounts.
  std::optional<std::string> FingerprintOf(const LoginIdentity& identity);
  void Main();
  /// Ends the accounts that have changed, and notes whether there are any.
  void Look(bool* has_ended);

  AccountText text_;
  std::function<void()> on_ended_;
  std::thread thread_;

  base::Mutex mutex_;
  base::Condition wakes_;
  std::vector<Watched> watched_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowsocket::engine::server
