#include "login.h"

#include <cstring>
#include <utility>

#include "base/printable.h"
#include "login_api.h"
#include "login_vio.h"

namespace rowsocket::engine::server {

namespace {

/// Logins beside a change of the account are tried again so often.
constexpr int kTriesMax = 3;

/// A THD for one login or the end of one connection, which no process list shows.
class LoginThd {
 public:
  explicit LoginThd(my_thread_id id) : thd_(new THD(id)) {
    thd_->thread_stack = reinterpret_cast<char*>(this);
    thd_->store_globals();
    thd_->init_for_queries();
    thd_->start_utime = thd_->thr_create_utime = microsecond_interval_timer();
  }
  // The server's buffer has held the answers of the client's side.
  ~LoginThd() {
    NET& net = thd_->net;
    if (net.buff != nullptr) explicit_bzero(net.buff, net.max_packet);
    net.vio = nullptr;
    mysql_audit_release(thd_);
    thd_->add_status_to_global();
    thd_->cleanup();
    delete thd_;
    set_current_thd(nullptr);
  }
  LoginThd(const LoginThd&) = delete;
  LoginThd& operator=(const LoginThd&) = delete;

  THD* get() const { return thd_; }

 private:
  THD* const thd_;
};

struct ServerTicket final : LoginTicket {
  ~ServerTicket() override {
    if (counted != nullptr) decrease_user_connections(counted);
  }

  my_thread_id id = 0;
  std::string user, host, ip;
  bool has_host = false, has_ip = false;
  std::string priv_user, priv_host;
  user_conn* counted = nullptr;
};

std::string TextOf(const char* text) { return text != nullptr ? text : ""; }

/// The packet with which a client changes its user, behind the command's byte: it begins the
/// authentication without a greeting.
std::string ChangeUserPacket(const std::string& user) {
  std::string packet = user;
  packet.push_back('\0');  // The end of the name.
  packet.push_back('\0');  // No answer to a plugin yet.
  packet.push_back('\0');  // No database.
  packet.push_back(static_cast<char>(system_charset_info->number & 0xff));
  packet.push_back(static_cast<char>(system_charset_info->number >> 8 & 0xff));
  packet += "mysql_native_password";
  packet.push_back('\0');
  return packet;
}

/// Whether the account has limits that only the server's own statements count against.
bool HasHourlyLimits(const user_conn* counted) {
  if (counted == nullptr) return false;
  const USER_RESOURCES& limits = counted->user_resources;
  return limits.questions != 0 || limits.updates != 0 || limits.max_statement_time != 0.0;
}

void LogFailure(const THD* thd, const LoginAttempt& attempt, const char* why) {
  const char* const from = thd->security_ctx->host_or_ip;
  sql_print_warning("rowsocket: a login of '%s' from '%s' was refused: %s",
                    base::Printable(attempt.user).c_str(), from != nullptr ? from : "",
                    base::Printable(why).c_str());
}

void Authenticate(THD* thd, const LoginAttempt& attempt, const char** why) {
  thd->client_capabilities = CLIENT_PROTOCOL_41 | CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH |
                             CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
  thd->scramble[SCRAMBLE_LENGTH] = 1;
  const std::string packet = ChangeUserPacket(attempt.user);
  NET& net = thd->net;
  // The net's own buffer is used for the answers to the plugins.
  std::string kept = packet + '\0';
  net.read_pos = reinterpret_cast<uchar*>(kept.data());
  const bool failed = acl_authenticate(thd, static_cast<uint>(packet.size()));
  if (!failed) return;
  Diagnostics_area* const area = thd->get_stmt_da();
  // The server's own words about a wrong password are in the log already.
  const bool is_logged =
      area->is_error() && (area->sql_errno() == ER_ACCESS_DENIED_ERROR ||
                           area->sql_errno() == ER_ACCESS_DENIED_NO_PASSWORD_ERROR);
  *why = is_logged && global_system_variables.log_warnings > 1 ? ""
         : area->is_error()                                    ? area->message()
                                                               : "the server has told no reason";
}

}  // namespace

void ServerLogins::Enter() { my_thread_init(); }
void ServerLogins::Leave() { my_thread_end(); }

Login ServerLogins::Check(const LoginAttempt& attempt) {
  Login login;
  for (int i = 0; i < kTriesMax; ++i) {
    if (Try(attempt, &login) != Verdict::kChanged) return login;
  }
  sql_print_warning("rowsocket: a login of '%s' was refused: %s",
                    base::Printable(attempt.user).c_str(),
                    "the account is being changed, or its host is that of another account, too");
  return {};
}

ServerLogins::Verdict ServerLogins::Try(const LoginAttempt& attempt, Login* login) {
  LoginVio vio(attempt);
  const LoginThd owner(next_thread_id());
  THD* const thd = owner.get();
  if (my_net_init(&thd->net, vio.vio(), thd, MYF(0))) return Verdict::kRefused;
  uint host_errors = 0;
  sockaddr_storage address = attempt.address;
  if (thd_set_peer_addr(thd, &address, nullptr, attempt.port, false, &host_errors)) {
    LogFailure(thd, attempt, thd->is_error() ? thd->get_stmt_da()->message() : "");
    return Verdict::kRefused;
  }
  const Verdict verdict = Decide(thd, attempt, login);
  if (verdict == Verdict::kAccepted && host_errors != 0)
    reset_host_connect_errors(thd->main_security_ctx.ip);
  if (verdict == Verdict::kRefused) statistic_increment(aborted_connects, &LOCK_status);
  return verdict;
}

// The server may choose an account without a name for a client, which stands for another account
// then (a proxy user).
std::vector<ServerLogins::Candidate> ServerLogins::Candidates(const THD* thd,
                                                              const std::string& user) {
  std::vector<Candidate> candidates;
  const Security_context* const client = thd->security_ctx;
  for (const std::string& name : {user, std::string()}) {
    Security_context found;
    found.init();
    if (opt_noacl || FindAccount(&found, name, client->host, client->ip)) continue;
    candidates.push_back({name, found.priv_host, watch_.Fingerprint(name, found.priv_host)});
  }
  return candidates;
}

std::shared_ptr<const model::Account> ServerLogins::Use(const THD* thd,
                                                        const std::vector<Candidate>& candidates) {
  const Security_context* const context = thd->security_ctx;
  const std::string own =
      "'" + std::string(context->priv_user) + "'@'" + std::string(context->priv_host) + "'";
  const std::string chosen = context->proxy_user[0] == '\0' ? own : context->proxy_user;
  for (const Candidate& each : candidates) {
    if ("'" + each.user + "'@'" + each.host + "'" != chosen) continue;
    return watch_.Use(
        {context->priv_user, context->priv_host, context->priv_role, each.user, each.host},
        each.before);
  }
  return {};
}

ServerLogins::Verdict ServerLogins::Decide(THD* thd, const LoginAttempt& attempt, Login* login) {
  Security_context* const context = thd->security_ctx;
  const std::vector<Candidate> candidates = Candidates(thd, attempt.user);
  const char* why = nullptr;
  Authenticate(thd, attempt, &why);
  auto ticket = std::make_unique<ServerTicket>();
  ticket->counted = std::exchange(thd->user_connect, nullptr);
  if (why == nullptr && opt_noacl) why = "the server runs with skip-grant-tables";
  // Not every version of the server asks for it where a client changes its user.
  if (why == nullptr && opt_require_secure_transport && attempt.tls == nullptr && !attempt.is_unix)
    why = "require_secure_transport is ON";
  if (why == nullptr && context->password_expired) why = "the password has expired";
  if (why == nullptr && context->priv_user[0] == '\0') why = "the account is anonymous";
  if (why == nullptr && HasHourlyLimits(ticket->counted))
    why =
        "the account has limits of queries or updates an hour or of statement time, which count "
        "SQL statements alone";
  std::shared_ptr<const model::Account> account;
  if (why == nullptr) account = Use(thd, candidates);
  // Audit plugins are shown a failed login also where only this library refuses it.
  if (why != nullptr && !thd->is_error()) {
    thd->get_stmt_da()->reset_diagnostics_area();
    my_error(ER_ACCESS_DENIED_ERROR, MYF(0), attempt.user.c_str(), context->host_or_ip,
             ER_THD(thd, ER_YES));
  }
  const bool is_changed = why == nullptr && account == nullptr;
  if (!is_changed) mysql_audit_notify_connection_connect(thd);
  if (account == nullptr) {
    if (is_changed) return Verdict::kChanged;
    if (*why != '\0') LogFailure(thd, attempt, why);
    return Verdict::kRefused;
  }
  ticket->id = thd->thread_id;
  ticket->user = TextOf(context->user);
  ticket->has_host = context->host != nullptr;
  ticket->host = TextOf(context->host);
  ticket->has_ip = context->ip != nullptr;
  ticket->ip = TextOf(context->ip);
  ticket->priv_user = context->priv_user;
  ticket->priv_host = context->priv_host;
  login->account = std::move(account);
  login->ticket = std::move(ticket);
  return Verdict::kAccepted;
}

void ServerLogins::End(std::unique_ptr<LoginTicket> ticket) {
  auto& ended = static_cast<ServerTicket&>(*ticket);
  if (ended.counted != nullptr) decrease_user_connections(std::exchange(ended.counted, nullptr));
  if (!mysql_audit_connection_enabled()) return;
  const LoginThd owner(ended.id);
  Security_context* const context = owner.get()->security_ctx;
  const auto copy = [](const std::string& text) {
    return my_strdup(PSI_NOT_INSTRUMENTED, text.c_str(), MYF(0));
  };
  context->user = copy(ended.user);
  // The server frees a host of its own, but not this one.
  if (ended.has_host) context->host = ended.host == my_localhost ? my_localhost : copy(ended.host);
  if (ended.has_ip) context->ip = copy(ended.ip);
  context->host_or_ip = context->host != nullptr ? context->host : context->ip;
  strmake_buf(context->priv_user, ended.priv_user.c_str());
  strmake_buf(context->priv_host, ended.priv_host.c_str());
  mysql_audit_notify_connection_disconnect(owner.get(), 0);
}

}  // namespace rowsocket::engine::server
