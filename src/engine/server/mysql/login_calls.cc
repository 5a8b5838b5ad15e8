#include "engine/server/login_calls.h"

#include <netdb.h>

#include "engine/server/login.h"
#include "engine/server/login_thd.h"
#include "engine/server/session_thd.h"
#include "sql/hostname_cache.h"
#include "sql/protocol_classic.h"
#include "sql/sql_audit.h"
#include "sql/sql_connect.h"
#include "violite.h"

namespace rowsocket::engine::server {

namespace {

struct ServerTicket final : LoginTicket {
  ~ServerTicket() override {
    if (counted != nullptr) decrease_user_connections(counted);
  }
  USER_CONN* counted = nullptr;
};

std::string TextOf(const LEX_CSTRING& text) {
  return text.length != 0 ? std::string(text.str, text.length) : std::string();
}

}  // namespace

// The server waits for the THDs that it knows of before it frees its accounts at a shutdown.
LoginThd::LoginThd(my_thread_id) : thd_(new THD(/*enable_plugins=*/true)) {
  thd_->thread_stack = static_cast<char*>(__builtin_frame_address(0));
  thd_->set_new_thread_id();
  thd_->store_globals();
  thd_->set_time();
  thd_->variables.option_bits &= ~OPTION_BIN_LOG;
  lex_start(thd_);
  Global_THD_manager::get_instance()->add_thd(thd_);
}

// The server's buffer has held the client's answers, so it is wiped.
LoginThd::~LoginThd() {
  if (has_net_) {
    NET& net = *thd_->get_protocol_classic()->get_net();
    explicit_bzero(net.buff, net.max_packet);
    net_end(&net);
    net.vio = nullptr;
  }
  Global_THD_manager::get_instance()->remove_thd(thd_);
  thd_->clear_error();
  thd_->cleanup_after_query();
  thd_->release_resources();
  delete thd_;
}

bool LoginThd::SpeakThrough(ServerVio* vio) {
  has_net_ = vio != nullptr && !thd_->get_protocol_classic()->init_net(vio);
  return has_net_;
}

const char* const kClientPlugin = "caching_sha2_password";

const char* SetClient(THD* thd, const LoginAttempt& attempt, unsigned* host_errors) {
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

std::optional<std::string> HostOfAccount(THD* thd, const std::string& user) {
  const Security_context* const client = thd->security_context();
  Security_context found;
  if (acl_getroot(thd, &found, user.c_str(), client->host().str, client->ip().str, nullptr)) {
    return {};
  }
  return TextOf(found.priv_host());
}

const char* Authenticate(THD* thd, LoginVio& vio, const std::string& packet) {
  Protocol_classic* const protocol = thd->get_protocol_classic();
  protocol->set_client_capabilities(CLIENT_PROTOCOL_41 | CLIENT_PLUGIN_AUTH |
                                    CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA);
  thd->scramble[SCRAMBLE_LENGTH] = 1;
  vio.Send(0, packet);
  if (protocol->read_packet() != 0) return "the library's own packet could not be read";
  if (acl_authenticate(thd, COM_CHANGE_USER) == 0 && !thd->is_error()) return nullptr;
  return thd->is_error() ? thd->get_stmt_da()->message_text() : "the server has told no reason";
}

LoggedIn LoggedInAs(const THD* thd) {
  const Security_context* const context = thd->security_context();
  return {TextOf(context->priv_user()),
          TextOf(context->priv_host()),
          {},
          TextOf(context->proxy_user()),
          context->password_expired()};
}

std::unique_ptr<LoginTicket> TakeTicket(THD* thd) {
  auto ticket = std::make_unique<ServerTicket>();
  ticket->counted = const_cast<USER_CONN*>(thd->get_user_connect());
  thd->set_user_connect(nullptr);
  return ticket;
}

// Refuses accounts with limits that count only SQL statements, because the ports execute none.
const char* WhyNotLimited(const LoginTicket& ticket) {
  const USER_CONN* const counted = static_cast<const ServerTicket&>(ticket).counted;
  const bool is_limited = counted != nullptr && (counted->user_resources.questions != 0 ||
                                                 counted->user_resources.updates != 0);
  return is_limited
             ? "the account has limits of queries or updates an hour, which count SQL statements "
               "alone"
             : nullptr;
}

bool ShowLogin(THD* thd) {
  return mysql_event_tracking_connection_notify(
             thd, AUDIT_EVENT(EVENT_TRACKING_CONNECTION_CONNECT)) == 0;
}

const char* ShownHost(const THD* thd) {
  const char* const host = thd->security_context()->host_or_ip().str;
  return host != nullptr ? host : "";
}

void ForgetHostErrors(THD* thd) { reset_host_connect_errors(thd->m_main_security_ctx.ip().str); }

void CountRefusal() { Connection_handler_manager::get_instance()->inc_aborted_connects(); }

void ServerLogins::End(std::unique_ptr<LoginTicket> ticket) {
  // A server that shuts down frees its counts of connections; it waits with that as long as this
  // THD exists.
  auto& counted = static_cast<ServerTicket&>(*ticket).counted;
  const auto account = std::exchange(counted, nullptr);
  const LoginThd waited_for;  // Without memory for the THD, the account's connection stays counted.
  if (!ServerStopping()) counted = account;
  ticket.reset();
}

}  // namespace rowsocket::engine::server
