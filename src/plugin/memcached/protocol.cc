#include "plugin/memcached/protocol.h"

#include <utility>

#include "api.h"
#include "engine/server/replication.h"
#include "model/version.h"
#include "plugin/addresses.h"
#include "plugin/host.h"
#include "plugin/make_port.h"
#include "plugin/memcached/options.h"
#include "plugin/port_account.h"

namespace rowsocket::plugin {

MemcachedProtocol::MemcachedProtocol(MemcachedVariables variables)
    : variables_(std::move(variables)) {}

bool MemcachedProtocol::Configure(const Counted& counted, DaemonSettings* settings,
                                  std::string* error) {
  if (!ApplyOptions(error)) return false;
  std::vector<net::Address> addresses;
  const PortVariables port_variables{
      variables_.address,
      variables_.port,
      variables_.socket,
      {"daemon_memcached_address", "daemon_memcached_port", "daemon_memcached_socket"}};
  if (!FindAddresses(port_variables, &addresses, error)) return false;
  if (addresses.empty()) {
    *error =
        "daemon_memcached_port is 0 and daemon_memcached_socket is not set: there is nothing to "
        "listen on";
    return false;
  }
  settings->sessions = engine::server::SessionSettings{variables_.wrlock_timeout_s, {"memcached"}};
  TakeCommonSettings(variables_, variables_.accounts, settings);
  exec::PortSettings port = MakeMemcachedPort(addresses);
  std::shared_ptr<const model::Account> account;
  if (!TakeAccount(variables_.user, "daemon_memcached_user", &port, &account, error)) {
    return false;
  }
  MakeShared(addresses, account, counted);
  shared_keyspaces_->keyspaces()->catalog.ExpectContainers();
  if (!MakeTls(variables_.tls, "daemon_memcached", "", &port.handshakes.tls, error)) return false;
  settings->ports.push_back(
      {std::move(port), [this] { return std::make_unique<frontend::MemcachedFrontend>(*shared_); },
       /*note=*/""});
  WarnAboutOpenAddresses(addresses, variables_, "daemon_memcached",
                         "may read and write all tables that innodb_memcache.containers maps");
  return true;
}

exec::PortSettings MemcachedProtocol::MakeMemcachedPort(
    const std::vector<net::Address>& addresses) {
  exec::PortSettings port = MakePort(variables_, "daemon_memcached", variables_.accounts);
  port.addresses = addresses;
  if (variables_.has_socket_mode) port.listen.unix_mode = variables_.listen.unix_mode;
  port.prepare = [this](engine::Session& session, bool now) {
    if (now)
      shared_->keyspaces->catalog.RefreshNow(session);
    else
      shared_->keyspaces->catalog.Refresh(session);
  };
  return port;
}

bool MemcachedProtocol::StartHousekeeper(engine::SessionFactory& sessions, std::string* error) {
  keyspace::HousekeeperSettings settings;
  settings.account = shared_->settings.account;
  settings.account_variable = "daemon_memcached_user";
  settings.rows_per_second = variables_.purge_rows_per_second;
  settings.on_purged = [this](uint64_t rows) {
    shared_->counters.Add(frontend::MemcachedStat::kPurged, rows);
  };
  return shared_keyspaces_->housekeeper().Offer("daemon_memcached",
                                                keyspace::SharedHousekeeper::Part::kContainers,
                                                sessions, std::move(settings), error);
}

void MemcachedProtocol::StopHousekeeper() {
  shared_keyspaces_->housekeeper().Withdraw("daemon_memcached");
}

bool MemcachedProtocol::ApplyOptions(std::string* error) {
  MemcachedOptions options;
  if (!ParseMemcachedOptions(variables_.option, &options, error)) return false;
  for (const std::string& unused : options.unused) {
    LogPrintableWarning("daemon_memcached_option: " + unused + " has no meaning here");
  }
  if (options.port) variables_.port = *options.port;
  if (options.address) variables_.address = *options.address;
  if (options.socket) {
    // As in memcached, a socket path replaces the TCP port.
    variables_.socket = *options.socket;
    variables_.port = "0";
  }
  variables_.has_socket_mode = options.socket_mode.has_value();
  if (options.socket_mode) variables_.listen.unix_mode = *options.socket_mode;
  if (options.accounts) variables_.accounts = true;
  if (options.threads) variables_.threads = *options.threads;
  if (options.connections) variables_.limits.connections_max = *options.connections;
  if (options.needs_tls) variables_.tls.mode = net::TlsMode::kRequired;
  if (options.item_bytes_max) variables_.limits.item_bytes_max = *options.item_bytes_max;
  const model::Limits& limits = variables_.limits;
  if (variables_.threads > MemcachedOptions::kThreadsMax ||
      limits.connections_max > MemcachedOptions::kConnectionsMax ||
      limits.item_bytes_max < MemcachedOptions::kItemBytesMin ||
      limits.item_bytes_max > MemcachedOptions::kItemBytesMax) {
    *error =
        "daemon_memcached_option: -t is at most 3000, -c at most 1048576, -I from 1024 to 1024m";
    return false;
  }
  return true;
}

void MemcachedProtocol::MakeShared(const std::vector<net::Address>& addresses,
                                   std::shared_ptr<const model::Account> account,
                                   const Counted& counted) {
  frontend::MemcachedSettings settings;
  settings.account = std::move(account);
  settings.limits = variables_.limits;
  settings.may_flush = variables_.may_flush;
  settings.accounts = variables_.accounts;
  settings.version = model::kMemcachedVersion;
  settings.threads = variables_.threads;
  settings.socket = variables_.socket;
  settings.address = variables_.address;
  settings.backlog = static_cast<unsigned>(variables_.listen.backlog);
  settings.health = engine::server::ReadHealth;
  for (const net::Address& address : addresses) {
    if (address.kind == net::Address::Kind::kTcp) settings.port = address.port;
  }
  shared_ = std::make_unique<frontend::MemcachedShared>(
      std::move(settings), counted.stats, counted.latency, shared_keyspaces_->keyspaces());
}

}  // namespace rowsocket::plugin
