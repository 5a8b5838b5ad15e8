// Logins as the server itself checks them: its acl_authenticate decides, with the account's own
// plugins, for a THD that lives as long as the check.
//
// Flow: Check: a THD, the client's address (which may ask a name server), the account that SQL
//       would choose, acl_authenticate, the event for plugins
//       End: the account's count of connections, in MariaDB the event for audit plugins
// Threads: those of the login desk.
// Errors: the reason of a failure goes into the server's log.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/login.h"
#include "engine/server/account_watch.h"

class THD;

namespace rowsocket::engine::server {

class LoginVio;
struct LoggedIn;

class ServerLogins final : public LoginChecker {
 public:
  ~ServerLogins() override { watch_.Stop(); }

  void Enter() override;
  void Leave() override;
  Login Check(const LoginAttempt& attempt) override;
  /// Each family's login_calls.cc defines it, because the ticket is of the family's own type.
  void End(std::unique_ptr<LoginTicket> ticket) override;
  bool Watch(std::function<void()> on_ended) override { return watch_.Start(std::move(on_ended)); }
  /// Ends what Watch has begun: from now on `on_ended` is not called.
  void StopWatching() { watch_.Stop(); }

 private:
  enum class Verdict : uint8_t { kAccepted, kRefused, kChanged };
  /// An account that the server may choose for a client, and its fingerprint before the login.
  struct Candidate {
    std::string user, host, before;
  };

  /// Checks the login once. `is_last`: the login is not tried again. So it is refused if its
  /// account is being changed, and plugins of events are told of that.
  Verdict Try(const LoginAttempt& attempt, bool is_last, Login* login);
  Verdict Decide(THD* thd, LoginVio& vio, const LoginAttempt& attempt, bool is_last, Login* login);
  std::vector<Candidate> Candidates(THD* thd, const std::string& user);
  /// The account that the server has chosen. Null if the account that logged in has changed since
  /// before the login, if one of the two accounts is gone, or if the server does not say.
  std::shared_ptr<const model::Account> Use(const LoggedIn& account,
                                            const std::vector<Candidate>& candidates);

  AccountWatch watch_;
};

}  // namespace rowsocket::engine::server
