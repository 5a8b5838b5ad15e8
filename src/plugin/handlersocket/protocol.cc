#include "plugin/handlersocket/protocol.h"

#include <utility>

#include "api.h"
#include "engine/server/replication.h"
#include "engine/server/server_log.h"
#include "exec/token_book.h"
#include "plugin/addresses.h"
#include "plugin/make_port.h"
#include "plugin/port_account.h"

namespace rowsocket::plugin {

HandlerSocketProtocol::HandlerSocketProtocol(HandlerSocketVariables variables)
    : variables_(std::move(variables)) {}

bool HandlerSocketProtocol::Configure(const Counted&, DaemonSettings* settings,
                                      std::string* error) {
  settings->sessions = engine::server::SessionSettings{variables_.wrlock_timeout_s,
                                                       {"handlersocket", /*shows_padding=*/true}};
  const bool has_secret = !variables_.secret.empty() || !variables_.secret_wr.empty();
  TakeCommonSettings(variables_, variables_.accounts || has_secret, settings);
  const Mode modes[] = {
      {.name = "mode=rd",
       .port_variable = "handlersocket_port",
       .socket_variable = "handlersocket_socket",
       .secret_variable = "handlersocket_plain_secret",
       .user_variable = "handlersocket_user",
       .threads_variable = "handlersocket_threads",
       .port = variables_.port,
       .socket = variables_.socket,
       .secret = variables_.secret,
       .user = variables_.user,
       .threads = variables_.threads,
       .writable = false},
      {.name = "mode=wr",
       .port_variable = "handlersocket_port_wr",
       .socket_variable = "handlersocket_socket_wr",
       .secret_variable = "handlersocket_plain_secret_wr",
       .user_variable = "handlersocket_user_wr",
       .threads_variable = "handlersocket_threads_wr",
       .port = variables_.port_wr,
       .socket = variables_.socket_wr,
       .secret = variables_.secret_wr,
       .user = variables_.user_wr,
       .threads = variables_.threads_wr,
       .writable = true},
  };
  if (variables_.serves_tokens) exec::TokenBook::KeepFor(variables_.tokens.ttl_s);
  for (const Mode& mode : modes) {
    if (!AddPort(mode, settings, error)) return false;
  }
  WarnAboutOpenFiles(!settings->ports.empty());
  return true;
}

bool HandlerSocketProtocol::AddressesOf(const Mode& mode, std::vector<net::Address>* addresses,
                                        std::string* error) const {
  const net::VariableNames names{"handlersocket_address", mode.port_variable, mode.socket_variable};
  if (!FindAddresses({variables_.address, mode.port, {}, names}, addresses, error)) return false;
  // A path among the addresses is one socket file, which only one port can have: the port that
  // reads.
  const bool had_addresses = !addresses->empty();
  std::erase_if(*addresses, [&](const net::Address& address) {
    return mode.writable && address.kind == net::Address::Kind::kUnix && address.path != mode.port;
  });
  if (had_addresses && addresses->empty()) {
    *error =
        "handlersocket_address is a path, which is the socket of the reading port: set "
        "handlersocket_socket_wr to another path for handlersocket_port_wr";
    return false;
  }
  if (!FindAddresses({{}, {}, mode.socket, names}, addresses, error)) return false;
  for (const net::Address& address : *addresses) {
    if (mode.secret.empty() && !variables_.accounts && !AdmitsByCertificate(variables_.tls) &&
        !net::IsLoopback(address)) {
      *error = "refusing to listen on " + net::ToText(address) + " without a secret: set " +
               mode.secret_variable +
               " or handlersocket_accounts, or set handlersocket_ssl and "
               "handlersocket_ssl_client_cert to REQUIRED, or set "
               "handlersocket_address to 127.0.0.1";
      return false;
    }
  }
  return true;
}

bool HandlerSocketProtocol::AddPort(const Mode& mode, DaemonSettings* settings,
                                    std::string* error) {
  PortPlan plan;
  exec::PortSettings& port = plan.settings;
  const bool must_authenticate = !mode.secret.empty() || variables_.accounts;
  port = MakePort(variables_, "handlersocket", must_authenticate);
  if (!AddressesOf(mode, &port.addresses, error)) return false;
  if (port.addresses.empty()) return true;  // Neither port nor socket is set.
  auto frontend = std::make_unique<frontend::HandlerSocketSettings>();
  frontend->writable = mode.writable;
  frontend->limits = variables_.limits;
  frontend->serves_tokens = variables_.serves_tokens;
  frontend->tokens = variables_.tokens;
  frontend->health = engine::server::ReadHealth;
  frontend->position = engine::server::BinlogPosition;
  frontend->has_executed = engine::server::HasExecuted;
  frontend->has_executed_range = engine::server::HasExecutedRange;
  frontend->accounts = variables_.accounts;
  frontend->delays_refusals = settings->auth_threads != 0;
  if (!frontend->secret.Set(mode.secret)) {
    *error = std::string(mode.secret_variable) + " is longer than " +
             std::to_string(base::Secret::kSecretBytesMax) + " bytes";
    return false;
  }
  port.mode = mode.name;
  if (!TakeAccount(mode.user, mode.user_variable, &port, &frontend->account, error)) return false;
  port.workers = mode.threads;
  port.workers_variable = mode.threads_variable;
  port.writes = mode.writable;
  port.listen.variables.port = mode.port_variable;
  port.listen.variables.socket = mode.socket_variable;
  if (!MakeTls(variables_.tls, "handlersocket", mode.name, &port.handshakes.tls, error)) {
    return false;
  }
  const frontend::HandlerSocketSettings* shared = frontend.get();
  frontends_.push_back(std::move(frontend));
  plan.make_frontend = [shared] {
    return std::make_unique<frontend::HandlerSocketFrontend>(*shared);
  };
  plan.note = mode.writable ? ", read/write" : ", read only";
  settings->ports.push_back(std::move(plan));
  return true;
}

void HandlerSocketProtocol::WarnAboutOpenFiles(bool serves) const {
  if (!serves) {
    engine::server::LogWarning(
        "neither handlersocket_port nor handlersocket_port_wr is set: "
        "nothing is served");
    return;
  }
  // Each connection needs a descriptor, and each worker some for its event loop and its open
  // tables.
  const ulong workers = variables_.threads + variables_.threads_wr;
  const ulong wanted = 1024 + workers * 64;
  if (open_files_limit < wanted) {
    engine::server::LogWarning(
        "open_files_limit is %lu; %lu threads want at least %lu, and one "
        "more for each connection: raise open_files_limit",
        open_files_limit, workers, wanted);
  }
}

}  // namespace rowsocket::plugin
