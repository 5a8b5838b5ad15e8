#include "engine/server/login_calls.h"

#include <cstring>
#include <utility>

#include "engine/server/login.h"
#include "engine/server/login_thd.h"
#include "engine/server/session_thd.h"
#include "login_api.h"

namespace rowsocket::engine::server {

namespace {

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

}  // namespace

LoginThd::LoginThd(my_thread_id id) : thd_(new THD(id != 0 ? id : next_thread_id())) {
  thd_->thread_stack = reinterpret_cast<char*>(this);
  thd_->store_globals();
  thd_->init_for_queries();
  thd_->start_utime = thd_->thr_create_utime = microsecond_interval_timer();
}

// The server's buffer has held the client's answers, so it is wiped.
LoginThd::~LoginThd() {
  NET& net = thd_->net;
  if (has_net_) explicit_bzero(net.buff, net.max_packet);
  net.vio = nullptr;
  mysql_audit_release(thd_);
  thd_->add_status_to_global();
  thd_->cleanup();
  delete thd_;
  set_current_thd(nullptr);
}

bool LoginThd::SpeakThrough(ServerVio* vio) {
  has_net_ = vio != nullptr && !my_net_init(&thd_->net, vio, thd_, MYF(0));
  return has_net_;
}

const char* const kClientPlugin = "mysql_native_password";

const char* SetClient(THD* thd, const LoginAttempt& attempt, unsigned* host_errors) {
  sockaddr_storage address = attempt.address;
  if (!thd_set_peer_addr(thd, &address, nullptr, attempt.port, false, host_errors)) return nullptr;
  return thd->is_error() ? thd->get_stmt_da()->message() : "";
}

std::optional<std::string> HostOfAccount(THD* thd, const std::string& user) {
  const Security_context* const client = thd->security_ctx;
  Security_context found;
  found.init();
  if (FindAccount(&found, user, client->host, client->ip)) return {};
  return found.priv_host;
}

const char* Authenticate(THD* thd, LoginVio&, const std::string& packet) {
  thd->client_capabilities = CLIENT_PROTOCOL_41 | CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH |
                             CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
  thd->scramble[SCRAMBLE_LENGTH] = 1;
  NET& net = thd->net;
  // A copy, because the net's own buffer is used for the answers to the plugins.
  std::string kept = packet + '\0';
  net.read_pos = reinterpret_cast<uchar*>(kept.data());
  if (!acl_authenticate(thd, static_cast<uint>(packet.size()))) return nullptr;
  const Diagnostics_area* const area = thd->get_stmt_da();
  // The server has logged its own message about a wrong password already.
  const bool is_logged =
      area->is_error() && (area->sql_errno() == ER_ACCESS_DENIED_ERROR ||
                           area->sql_errno() == ER_ACCESS_DENIED_NO_PASSWORD_ERROR);
  if (is_logged && global_system_variables.log_warnings > 1) return "";
  return area->is_error() ? area->message() : "the server has told no reason";
}

LoggedIn LoggedInAs(const THD* thd) {
  const Security_context* const context = thd->security_ctx;
  return {context->priv_user, context->priv_host, context->priv_role, context->proxy_user,
          context->password_expired};
}

std::unique_ptr<LoginTicket> TakeTicket(THD* thd) {
  const Security_context* const context = thd->security_ctx;
  auto ticket = std::make_unique<ServerTicket>();
  ticket->counted = std::exchange(thd->user_connect, nullptr);
  ticket->id = ticket->server_thread_id = thd->thread_id;
  ticket->user = TextOf(context->user);
  ticket->has_host = context->host != nullptr;
  ticket->host = TextOf(context->host);
  ticket->has_ip = context->ip != nullptr;
  ticket->ip = TextOf(context->ip);
  ticket->priv_user = context->priv_user;
  ticket->priv_host = context->priv_host;
  return ticket;
}

// Refuses accounts with limits that count only SQL statements, because the ports execute none.
const char* WhyNotLimited(const LoginTicket& ticket) {
  const user_conn* const counted = static_cast<const ServerTicket&>(ticket).counted;
  if (counted == nullptr) return nullptr;
  const USER_RESOURCES& limits = counted->user_resources;
  const bool is_limited =
      limits.questions != 0 || limits.updates != 0 || limits.max_statement_time != 0.0;
  return is_limited ? "the account has limits of queries or updates an hour or of statement time, "
                      "which count SQL statements alone"
                    : nullptr;
}

bool ShowLogin(THD* thd) {
  mysql_audit_notify_connection_connect(thd);
  return true;
}

const char* ShownHost(const THD* thd) {
  const char* const host = thd->security_ctx->host_or_ip;
  return host != nullptr ? host : "";
}

void ForgetHostErrors(THD* thd) { reset_host_connect_errors(thd->main_security_ctx.ip); }

void CountRefusal() { statistic_increment(aborted_connects, &LOCK_status); }

void ServerLogins::End(std::unique_ptr<LoginTicket> ticket) {
  auto& ended = static_cast<ServerTicket&>(*ticket);
  // After the beginning of a shutdown the server frees its counts of connections without waiting
  // for anybody.
  const THD_count counted;
  if (ServerStopping()) ended.counted = nullptr;
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
