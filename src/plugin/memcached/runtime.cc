#include "plugin/memcached/runtime.h"

#include "api.h"
#include "plugin/daemon.h"
#include "plugin/memcached/options.h"
#include "replication.h"

namespace rowsocket::plugin {

namespace {

/// What the server's time of day is ahead of UTC.
int64_t UtcOffsetSeconds(int64_t unix_s) {
  MYSQL_TIME local;
  global_system_variables.time_zone->gmt_sec_to_TIME(&local, static_cast<my_time_t>(unix_s));
  const int64_t days = calc_daynr(local.year, local.month, local.day) - calc_daynr(1970, 1, 1);
  const int64_t local_s = days * 86'400 + local.hour * 3600 + local.minute * 60 + local.second;
  return local_s - unix_s;
}

}  // namespace

bool MemcachedRuntime::Start(MemcachedVariables variables, std::string* error) {
  std::vector<net::Address> addresses;
  if (!ApplyOptions(&variables, error) || !FindAddresses(variables, &addresses, error)) {
    return false;
  }
  sessions_ = std::make_unique<engine::server::ServerSessionFactory>(
      engine::server::SessionSettings{variables.wrlock_timeout_s, {"memcached"}}, Shared().indexes);
  lane_ = std::make_unique<exec::WaitLane>(*sessions_, stats_, Shared().commits,
                                           variables.lock_wait_threads);
  MakeShared(variables, addresses);
  exec::ServiceSettings service;
  service.name = "mode=rw";
  service.workers = variables.threads;
  service.workers_variable = "daemon_memcached_threads";
  service.connections_variable = "daemon_memcached_connections_max";
  service.memory_variable = "daemon_memcached_memory_max_bytes";
  service.elastic = true;
  service.addresses = addresses;
  service.listen = variables.listen;
  service.listen.variables = {"daemon_memcached_address", "daemon_memcached_port"};
  service.limits = variables.limits;
  service.limits.auth_timeout_s = 0;
  service.limits.descriptors_max = DescriptorsForConnections();
  service.writes = true;
  service.prepare = [this](engine::Session& session, bool now) {
    if (now)
      shared_->catalog.RefreshNow(session);
    else
      shared_->catalog.Refresh(session);
  };
  service_ = std::make_unique<exec::Service>(
      service, *sessions_, *lane_, stats_, Shared().commits,
      [this] { return std::make_unique<frontend::Memcached>(*shared_); }, Log);
  if (!service_->Start(error)) {
    Stop();
    return false;
  }
  housekeeper_ = std::make_unique<frontend::MemcachedHousekeeper>(*shared_, *sessions_,
                                                                  variables.purge_rows_per_second);
  if (!housekeeper_->Start()) {
    *error = "no thread can be had for daemon_memcached's housekeeping";
    Stop();
    return false;
  }
  for (const net::Address& address : addresses) {
    sql_print_information("rowsocket: daemon_memcached listens on %s, %u threads",
                          net::ToText(address).c_str(), variables.threads);
    if (net::IsLoopback(address)) continue;
    sql_print_warning(
        "rowsocket: whoever reaches %s may read and write all that "
        "innodb_memcache.containers maps: the protocol has no password",
        net::ToText(address).c_str());
  }
  return true;
}

bool MemcachedRuntime::ApplyOptions(MemcachedVariables* variables, std::string* error) {
  MemcachedOptions options;
  if (!ParseMemcachedOptions(variables->option, &options, error)) return false;
  for (const std::string& unused : options.unused) {
    sql_print_warning("rowsocket: daemon_memcached_option: %s has no meaning here", unused.c_str());
  }
  if (options.port) variables->port = *options.port;
  if (options.address) variables->address = *options.address;
  if (options.socket) {
    // As memcached, which then has no port.
    variables->socket = *options.socket;
    variables->port = "0";
  }
  if (options.socket_mode) variables->listen.unix_mode = *options.socket_mode;
  if (options.threads) variables->threads = *options.threads;
  if (options.connections) variables->limits.connections_max = *options.connections;
  if (options.item_bytes_max) variables->limits.item_bytes_max = *options.item_bytes_max;
  // As those of the variables.
  constexpr unsigned kThreadsMax = 3000;
  constexpr size_t kConnectionsMax = 1u << 20;
  constexpr size_t kItemBytesMin = 1024, kItemBytesMax = 1u << 30;
  const model::Limits& limits = variables->limits;
  if (variables->threads > kThreadsMax || limits.connections_max > kConnectionsMax ||
      limits.item_bytes_max < kItemBytesMin || limits.item_bytes_max > kItemBytesMax) {
    *error =
        "daemon_memcached_option: -t is at most 3000, -c at most 1048576, -I from 1024 to 1024m";
    return false;
  }
  return true;
}

bool MemcachedRuntime::FindAddresses(const MemcachedVariables& variables,
                                     std::vector<net::Address>* addresses, std::string* error) {
  const net::VariableNames names{"daemon_memcached_address", "daemon_memcached_port"};
  if (!variables.port.empty() && variables.port != "0") {
    auto parsed = net::ParseAddresses(variables.address, variables.port, names, error);
    if (!parsed) return false;
    *addresses = std::move(*parsed);
  }
  if (!variables.socket.empty()) {
    net::Address socket;
    socket.kind = net::Address::Kind::kUnix;
    socket.path = variables.socket;
    addresses->push_back(std::move(socket));
  }
  if (!addresses->empty()) return true;
  *error =
      "daemon_memcached_port is 0 and daemon_memcached_socket is not set: there is nothing to "
      "listen on";
  return false;
}

void MemcachedRuntime::MakeShared(const MemcachedVariables& variables,
                                  const std::vector<net::Address>& addresses) {
  frontend::MemcachedSettings settings;
  settings.limits = variables.limits;
  settings.may_flush = variables.may_flush;
  settings.version = "1.6.45";
  settings.threads = variables.threads;
  settings.socket = variables.socket;
  settings.address = variables.address;
  settings.backlog = static_cast<unsigned>(variables.listen.backlog);
  settings.utc_offset_s = UtcOffsetSeconds;
  settings.keeps_no_house = [keeps_house = variables.keeps_house_on_replica]() -> std::string_view {
    if (engine::server::IsGaleraNode()) {
      return "this server is a node of a Galera cluster, to which the change would not be passed "
             "(wsrep_on)";
    }
    if (*keeps_house || !engine::server::HasReplicationSource()) return {};
    return "this server has a replication source (daemon_memcached_housekeeping_on_replica)";
  };
  for (const net::Address& address : addresses) {
    if (address.kind == net::Address::Kind::kTcp) settings.port = address.port;
  }
  shared_ = std::make_unique<frontend::MemcachedShared>(std::move(settings), stats_, Log);
}

void MemcachedRuntime::Stop() {
  if (sessions_ != nullptr) sessions_->Stop();
  if (service_ != nullptr) service_->AskToStop();
  if (housekeeper_ != nullptr) housekeeper_->Stop();
  if (lane_ != nullptr) lane_->Stop();
  if (service_ != nullptr) service_->Stop();
  service_.reset();
  housekeeper_.reset();
  lane_.reset();
}

}  // namespace rowsocket::plugin
