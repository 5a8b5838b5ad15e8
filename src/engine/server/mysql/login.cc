#include "login.h"

#include <netdb.h>

#include <utility>

#include "base/printable.h"
#include "engine/server/server_log.h"
#include "login_thd.h"
#include "login_vio.h"
#include "sql/derror.h"
#include "sql/hostname_cache.h"
#include "sql/sql_audit.h"
#include "sql/sql_connect.h"
#include "violite.h"

namespace rowsocket::engine::server {

namespace {

/// Logins beside a change of the account are tried again so often.
constexpr int kTriesMax = 3;

struct ServerTicket final : LoginTicket {
  ~ServerTicket() override {
    if (counted != nullptr) decrease_user_connections(counted);
  }
  USER_CONN* counted = nullptr;
};

/// The packet with which a client changes its user, behind the command's byte: it begins the
/// authentication without a greeting.
std::string ChangeUserPacket(const std::string& user) {
  std::string packet = user;
  packet.push_back('\0');  // The end of the name.
  packet.push_back('\0');  // No answer to a plugin yet.
  packet.push_back('\0');  // No database.
  packet.push_back(static_cast<char>(system_charset_info->number & 0xff));
  packet.push_back(static_cast<char>(system_charset_info->number >> 8 & 0xff));
  packet += "caching_sha2_password";
  packet.push_back('\0');
  return packet;
}

const char* MessageOf(THD* thd) {
  return thd->is_error() ? thd->get_stmt_da()->message_text() : "the server has told no reason";
}

void LogFailure(const THD* thd, const LoginAttempt& attempt, const char* why) {
  LogWarning("a login of '%s' from '%s' was refused: %s", base::Printable(attempt.user).c_str(),
             thd->security_context()->host_or_ip().str, base::Printable(why).c_str());
}

/// Notes the client's address and name, as the server does for a connection of its own. Null, or
/// why nobody may log in from there.
const char* SetClient(THD* thd, const LoginAttempt& attempt, uint* host_errors) {
  Security_context& context = thd->m_main_security_ctx;
  if (attempt.is_unix) {
    context.assign_host(my_localhost, strlen(my_localhost));
    context.set_host_or_ip_ptr(my_localhost, strlen(my_localhost));
    context.set_ip_ptr("", 0);
    return nullptr;
  }
  char ip[NI_MAXHOST];
  sockaddr_storage address = attempt.address;
  if (vio_get_normalized_ip_string(reinterpret_cast<const sockaddr*>(&address), sizeof(address), ip,
                                   sizeof(ip))) {
    return "the client's address is unknown";
  }
  thd->peer_port = attempt.port;
  context.assign_ip(ip, static_cast<int>(strlen(ip)));
  context.set_host_or_ip_ptr(context.ip().str, static_cast<int>(context.ip().length));
  if ((specialflag & SPECIAL_NO_RESOLVE) == 0) {
    char* host = nullptr;
    const int result = ip_to_hostname(&address, context.ip().str, &host, host_errors);
    context.assign_host(host, host != nullptr ? strlen(host) : 0);
    if (host != nullptr && host != my_localhost) my_free(host);
    if (context.host().length > HOSTNAME_LENGTH) return "the client's host has too long a name";
    if (context.host().length != 0) {
      context.set_host_or_ip_ptr(context.host().str, static_cast<int>(context.host().length));
    }
    if (result == RC_BLOCKED_HOST) return "the host is blocked after too many errors";
  }
  if (acl_check_host(thd, context.host().str, context.ip().str)) {
    return "no account may log in from this host";
  }
  return nullptr;
}

/// Whether the account has limits that only the server's own statements count against.
bool HasHourlyLimits(const USER_CONN* counted) {
  return counted != nullptr &&
         (counted->user_resources.questions != 0 || counted->user_resources.updates != 0);
}

/// Null, or why the server refuses; an empty text where it has said so in its log.
const char* Authenticate(THD* thd) {
  Protocol_classic* const protocol = thd->get_protocol_classic();
  protocol->set_client_capabilities(CLIENT_PROTOCOL_41 | CLIENT_PLUGIN_AUTH |
                                    CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA);
  thd->scramble[SCRAMBLE_LENGTH] = 1;
  if (protocol->read_packet() != 0) return "the library's own packet could not be read";
  if (acl_authenticate(thd, COM_CHANGE_USER) != 0 || thd->is_error()) return MessageOf(thd);
  return nullptr;
}

}  // namespace

void ServerLogins::Enter() { my_thread_init(); }
void ServerLogins::Leave() { my_thread_end(); }

Login ServerLogins::Check(const LoginAttempt& attempt) {
  Login login;
  for (int i = 0; i < kTriesMax; ++i) {
    if (Try(attempt, &login) != Verdict::kChanged) return login;
  }
  LogWarning("a login of '%s' was refused: %s", base::Printable(attempt.user).c_str(),
             "the account is being changed, or its host is that of another account, too");
  return {};
}

ServerLogins::Verdict ServerLogins::Try(const LoginAttempt& attempt, Login* login) {
  LoginVio vio(attempt, ChangeUserPacket(attempt.user));
  if (vio.vio() == nullptr) return Verdict::kRefused;
  LoginThd owner;
  THD* const thd = owner.get();
  if (!owner.SpeakThrough(vio.vio())) return Verdict::kRefused;
  uint host_errors = 0;
  Verdict verdict = Verdict::kRefused;
  if (const char* const why = SetClient(thd, attempt, &host_errors))
    LogFailure(thd, attempt, why);
  else
    verdict = Decide(thd, attempt, login);
  if (verdict == Verdict::kAccepted && host_errors != 0)
    reset_host_connect_errors(thd->m_main_security_ctx.ip().str);
  if (verdict == Verdict::kRefused)
    Connection_handler_manager::get_instance()->inc_aborted_connects();
  return verdict;
}

// The server may choose an account without a name for a client, which stands for another account
// then (a proxy user).
std::vector<ServerLogins::Candidate> ServerLogins::Candidates(THD* thd, const std::string& user) {
  std::vector<Candidate> candidates;
  const Security_context* const client = thd->security_context();
  for (const std::string& name : {user, std::string()}) {
    Security_context found;
    if (skip_grant_tables() ||
        acl_getroot(thd, &found, name.c_str(), client->host().str, client->ip().str, nullptr)) {
      continue;
    }
    const std::string host = found.priv_host().str;
    candidates.push_back({name, host, watch_.Fingerprint(name, host)});
  }
  return candidates;
}

std::shared_ptr<const model::Account> ServerLogins::Use(const THD* thd,
                                                        const std::vector<Candidate>& candidates) {
  const Security_context* const context = thd->security_context();
  const std::string user = context->priv_user().str;
  const std::string host = context->priv_host().str;
  const std::string own = "'" + user + "'@'" + host + "'";
  const std::string chosen = context->proxy_user().length == 0 ? own : context->proxy_user().str;
  for (const Candidate& each : candidates) {
    if ("'" + each.user + "'@'" + each.host + "'" != chosen) continue;
    return watch_.Use({user, host, {}, each.user, each.host}, each.before);
  }
  return {};
}

ServerLogins::Verdict ServerLogins::Decide(THD* thd, const LoginAttempt& attempt, Login* login) {
  const char* why = nullptr;
  if (skip_grant_tables()) why = "the server runs with skip-grant-tables";
  // A connection in memory counts as a secure transport (LoginVio).
  if (opt_require_secure_transport && attempt.tls == nullptr && !attempt.is_unix)
    why = "require_secure_transport is ON";
  if (why != nullptr) {
    LogFailure(thd, attempt, why);
    return Verdict::kRefused;
  }
  const std::vector<Candidate> candidates = Candidates(thd, attempt.user);
  why = Authenticate(thd);
  const Security_context* const context = thd->security_context();
  auto ticket = std::make_unique<ServerTicket>();
  ticket->counted = const_cast<USER_CONN*>(thd->get_user_connect());
  thd->set_user_connect(nullptr);
  if (why == nullptr && context->password_expired()) why = "the password has expired";
  if (why == nullptr && context->priv_user().length == 0) why = "the account is anonymous";
  if (why == nullptr && HasHourlyLimits(ticket->counted))
    why = "the account has limits of queries or updates an hour, which count SQL statements alone";
  std::shared_ptr<const model::Account> account;
  if (why == nullptr) account = Use(thd, candidates);
  const bool is_changed = why == nullptr && account == nullptr;
  // A plugin of events is shown a failed login also where only this library refuses it, and may
  // refuse one itself.
  if (why != nullptr && !thd->is_error()) {
    thd->get_stmt_da()->reset_diagnostics_area();
    my_error(ER_ACCESS_DENIED_ERROR, MYF(0), attempt.user.c_str(), context->host_or_ip().str,
             ER_THD(thd, ER_YES));
  }
  if (!is_changed &&
      mysql_event_tracking_connection_notify(thd, AUDIT_EVENT(EVENT_TRACKING_CONNECTION_CONNECT)) !=
          0 &&
      why == nullptr) {
    account.reset();
    why = "a plugin of the server's events refuses it";
  }
  if (is_changed) return Verdict::kChanged;
  if (account == nullptr) {
    LogFailure(thd, attempt, why);
    return Verdict::kRefused;
  }
  login->account = std::move(account);
  login->ticket = std::move(ticket);
  return Verdict::kAccepted;
}

void ServerLogins::End(std::unique_ptr<LoginTicket> ticket) { ticket.reset(); }

}  // namespace rowsocket::engine::server
