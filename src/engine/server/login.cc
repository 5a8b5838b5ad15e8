#include "engine/server/login.h"

#include <utility>

#include "api.h"
#include "base/printable.h"
#include "engine/server/login_calls.h"
#include "engine/server/login_thd.h"
#include "engine/server/server_log.h"
#include "engine/server/session_thd.h"

namespace rowsocket::engine::server {

namespace {

/// How many times a login is tried if its account is changed meanwhile.
constexpr int kTriesMax = 3;

/// The packet with which a client changes its user, without the byte of the command: it begins the
/// authentication without a greeting.
std::string ChangeUserPacket(const std::string& user) {
  std::string packet = user;
  packet.push_back('\0');  // The end of the name.
  packet.push_back('\0');  // No answer to a plugin yet.
  packet.push_back('\0');  // No database.
  packet.push_back(static_cast<char>(system_charset_info->number & 0xff));
  packet.push_back(static_cast<char>(system_charset_info->number >> 8 & 0xff));
  packet += kClientPlugin;
  packet.push_back('\0');
  return packet;
}

void LogFailure(const THD* thd, const LoginAttempt& attempt, const char* why) {
  LogWarning("a login of '%s' from '%s' was refused: %s", base::Printable(attempt.user).c_str(),
             ShownHost(thd), base::Printable(why).c_str());
}

}  // namespace

void ServerLogins::Enter() { my_thread_init(); }
void ServerLogins::Leave() { my_thread_end(); }

Login ServerLogins::Check(const LoginAttempt& attempt) {
  Login login;
  for (int i = 1; Try(attempt, /*is_last=*/i == kTriesMax, &login) == Verdict::kChanged; ++i) {
  }
  return login;
}

ServerLogins::Verdict ServerLogins::Try(const LoginAttempt& attempt, bool is_last, Login* login) {
  LoginVio vio(attempt);
  LoginThd owner;
  // At shutdown the server waits for THDs, then frees its accounts, and ends plugins last: it waits
  // for a login that has a THD before the shutdown, and no login may begin later.
  if (ServerStopping() || !owner.SpeakThrough(vio.vio())) return Verdict::kRefused;
  THD* const thd = owner.get();
  unsigned host_errors = 0;
  Verdict verdict = Verdict::kRefused;
  if (const char* const why = SetClient(thd, attempt, &host_errors))
    LogFailure(thd, attempt, why);
  else
    verdict = Decide(thd, vio, attempt, is_last, login);
  if (verdict == Verdict::kAccepted && host_errors != 0) ForgetHostErrors(thd);
  if (verdict == Verdict::kRefused) CountRefusal();
  return verdict;
}

// The server may also choose the account without a name for a client, which then stands for another
// account (a proxy user).
std::vector<ServerLogins::Candidate> ServerLogins::Candidates(THD* thd, const std::string& user) {
  std::vector<Candidate> candidates;
  if (SkipsGrantTables()) return candidates;
  for (const std::string& name : {user, std::string()}) {
    const std::optional<std::string> host = HostOfAccount(thd, name);
    if (host) candidates.push_back({name, *host, watch_.Fingerprint(name, *host)});
  }
  return candidates;
}

std::shared_ptr<const model::Account> ServerLogins::Use(const LoggedIn& account,
                                                        const std::vector<Candidate>& candidates) {
  const std::string own = "'" + account.user + "'@'" + account.host + "'";
  const std::string& chosen = account.proxy.empty() ? own : account.proxy;
  for (const Candidate& each : candidates) {
    if ("'" + each.user + "'@'" + each.host + "'" != chosen) continue;
    return watch_.Use({account.user, account.host, account.role, each.user, each.host},
                      each.before);
  }
  return {};
}

ServerLogins::Verdict ServerLogins::Decide(THD* thd, LoginVio& vio, const LoginAttempt& attempt,
                                           bool is_last, Login* login) {
  const std::vector<Candidate> candidates = Candidates(thd, attempt.user);
  // MySQL cannot authenticate anybody if it has no accounts.
  const char* why = SkipsGrantTables() ? "the server runs with skip-grant-tables"
                                       : Authenticate(thd, vio, ChangeUserPacket(attempt.user));
  std::unique_ptr<LoginTicket> ticket = TakeTicket(thd);
  const LoggedIn logged_in = LoggedInAs(thd);
  // The server may take a connection in memory for a secure one, and not every version checks that
  // when a client changes its user.
  if (why == nullptr && opt_require_secure_transport && attempt.tls == nullptr && !attempt.is_unix)
    why = "require_secure_transport is ON";
  if (why == nullptr && logged_in.is_expired) why = "the password has expired";
  if (why == nullptr && logged_in.user.empty()) why = "the account is anonymous";
  if (why == nullptr) why = WhyNotLimited(*ticket);
  std::shared_ptr<const model::Account> account;
  if (why == nullptr) account = Use(logged_in, candidates);
  if (why == nullptr && account == nullptr) {
    if (!is_last) return Verdict::kChanged;
    why = "the account is being changed, or its host is that of another account, too";
  }
  // Plugins of events are shown a failed login even if only this library refuses it.
  if (why != nullptr && !thd->is_error()) {
    thd->get_stmt_da()->reset_diagnostics_area();
    my_error(ER_ACCESS_DENIED_ERROR, MYF(0), attempt.user.c_str(), ShownHost(thd),
             ER_THD(thd, ER_YES));
  }
  if (!ShowLogin(thd) && why == nullptr) why = "a plugin of the server's events refuses it";
  if (why != nullptr) {
    if (*why != '\0') LogFailure(thd, attempt, why);
    return Verdict::kRefused;
  }
  login->account = std::move(account);
  login->ticket = std::move(ticket);
  return Verdict::kAccepted;
}

}  // namespace rowsocket::engine::server
