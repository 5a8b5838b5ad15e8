// What a login asks of the server, which each family of servers answers by functions of its own:
// login_calls.cc in its folder.
//
// Flow: SetClient, HostOfAccount, Authenticate, then what the server says of the account that it
// has let in.
// Threads: those of the login desk, with the THD of the calling thread.
// Errors: texts for the server's log, which name the reason.
//
// login_calls.cc defines ServerLogins::End (login.h) as well.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/login.h"
#include "engine/server/login_vio.h"

class THD;

namespace rowsocket::engine::server {

/// Notes the client's address and host name, as the server does for a connection of its own.
/// Returns null, or why nobody may log in from there. Adds to `host_errors` if the client's host
/// has none so far.
const char* SetClient(THD* thd, const LoginAttempt& attempt, unsigned* host_errors);

/// The host of the account that SQL would choose for a user of this name; without a value if
/// there is none.
std::optional<std::string> HostOfAccount(THD* thd, const std::string& user);

/// The client's plugin that the server asks for first.
extern const char* const kClientPlugin;

/// Lets the server authenticate the client, which sends `packet` as for a change of user. Returns
/// null, or why the server refuses; an empty text if the server has written the reason to its
/// log.
const char* Authenticate(THD* thd, LoginVio& vio, const std::string& packet);

/// The account that the server has let in.
struct LoggedIn {
  std::string user, host, role;
  std::string proxy;  ///< The account that logged in and stands for this one, as 'user'@'host';
                      ///< empty: none does.
  bool is_expired = false;
};
LoggedIn LoggedInAs(const THD* thd);

/// Takes over the server's counts for the connection of this login.
std::unique_ptr<LoginTicket> TakeTicket(THD* thd);
/// Why the account's limits could not be kept; null if they could.
const char* WhyNotLimited(const LoginTicket& ticket);

/// Shows the login, or why it failed, to the server's plugins of events. False if one of them
/// refuses the login.
bool ShowLogin(THD* thd);

/// What the server shows as the client's host.
const char* ShownHost(const THD* thd);
/// Forgets the failures of the client's host.
void ForgetHostErrors(THD* thd);
/// Counts a login that was refused, in the server's counter Aborted_connects.
void CountRefusal();

}  // namespace rowsocket::engine::server
