#include "plugin/memcached/variables.h"

#include <atomic>
#include <memory>
#include <string>

#include "plugin/host.h"
#include "plugin/kill_variable.h"
#include "plugin/memcached/protocol.h"
#include "plugin/number_variable.h"

namespace rowsocket::plugin {

namespace {

constexpr const char* kName = "daemon_memcached";
unsigned long long kill_connection;

char* option;
char* engine_lib_name;
char* engine_lib_path;
char* address;
char* port;
char* socket_path;
char* user;
unsigned threads, lock_wait_threads, wrlock_timeout_s, timeout_s, backlog, sndbuf, rcvbuf;
unsigned r_batch_size, w_batch_size, purge_rows_per_second, connections_max;
unsigned account_requests_per_second, account_share_percent;
/// The values of these two, for the workers.
exec::AccountLimitSettings account_limits;
unsigned long long item_size_max, reply_max_bytes, buffer_max_bytes, memory_max_bytes;
unsigned auth_threads, auth_timeout_s;
ServerBool accounts, accounts_insecure, slow_log_values;
ServerBool enable_binlog, flush_all, housekeeping_on_replica;
unsigned long ssl, ssl_client_cert;
longlong clock_offset_s;

/// The value of clock_offset_s in milliseconds, for the threads that ask for the time.
std::atomic<int64_t> clock_offset_ms{0};

MemcachedVariables TakeVariables() {
  // SHOW VARIABLES then shows the number in use.
  if (threads == 0) threads = ReadersForThisMachine();
  clock_offset_ms.store(clock_offset_s * 1000);
  MemcachedVariables variables;
  variables.option = Text(option);
  variables.address = Text(address);
  variables.port = Text(port);
  variables.socket = Text(socket_path);
  variables.user = Text(user);
  variables.threads = threads;
  variables.lock_wait_threads = lock_wait_threads;
  variables.wrlock_timeout_s = wrlock_timeout_s;
  variables.purge_rows_per_second = purge_rows_per_second;
  variables.may_flush = flush_all;
  variables.tls = {static_cast<net::TlsMode>(ssl), static_cast<ClientCert>(ssl_client_cert)};
  variables.accounts = accounts;
  variables.accounts_insecure = accounts_insecure;
  variables.auth_threads = auth_threads;
  variables.limits.auth_timeout_s = auth_timeout_s;
  account_limits.requests_per_second.store(account_requests_per_second);
  account_limits.share_percent.store(account_share_percent);
  variables.account_limits = &account_limits;
  variables.listen.backlog = static_cast<int>(backlog);
  variables.listen.send_buffer_bytes = static_cast<int>(sndbuf);
  variables.listen.receive_buffer_bytes = static_cast<int>(rcvbuf);
  variables.limits.item_bytes_max = item_size_max;
  variables.limits.reply_bytes_max = reply_max_bytes;
  variables.limits.connections_max = connections_max;
  variables.limits.buffered_bytes_max = buffer_max_bytes;
  variables.limits.memory_bytes_max = memory_max_bytes;
  variables.limits.idle_timeout_s = timeout_s;
  return variables;
}

void SetClock(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  clock_offset_s = *static_cast<const longlong*>(save);
  *static_cast<longlong*>(target) = clock_offset_s;
  clock_offset_ms.store(clock_offset_s * 1000);
}

MYSQL_SYSVAR_STR(
    option, option, kReadOnlyString,
    "Options of memcached's command line, separated by blanks: -p -t -c -l -s -a -I -S -Z", nullptr,
    nullptr, nullptr);
MYSQL_SYSVAR_STR(
    engine_lib_name, engine_lib_name, kReadOnlyString,
    "Accepted for MySQL's configurations: there is one engine, and it is in this library", nullptr,
    nullptr, nullptr);
MYSQL_SYSVAR_STR(engine_lib_path, engine_lib_path, kReadOnlyString,
                 "Accepted for MySQL's configurations: as daemon_memcached_engine_lib_name",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(address, address, kReadOnlyString,
                 "Addresses to listen on, separated by commas; default 127.0.0.1", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_STR(port, port, kReadOnlyString, "Port; 0: none", nullptr, nullptr, "11211");
MYSQL_SYSVAR_STR(user, user, kReadOnlyString,
                 "Account, as name@host, whose rights all clients have; not set: all rights",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(socket, socket_path, kReadOnlyString, "Path of a UNIX socket", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_BOOL(accounts, accounts, PLUGIN_VAR_READONLY,
                  "Clients must log in with an account of the server: ASCII authentication in text "
                  "and meta, SASL PLAIN in binary",
                  nullptr, nullptr, false);
MYSQL_SYSVAR_BOOL(accounts_insecure, accounts_insecure, PLUGIN_VAR_READONLY,
                  "Take the passwords of accounts also over TCP from other machines without TLS, "
                  "where others can read them",
                  nullptr, nullptr, false);
MYSQL_SYSVAR_UINT(auth_threads, auth_threads, PLUGIN_VAR_READONLY,
                  "Logins that are checked at a time: a login may wait for a name server or an "
                  "authentication plugin",
                  nullptr, nullptr, 4, 1, 256, 0);
MYSQL_SYSVAR_UINT(auth_timeout, auth_timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds in which a client must log in where accounts are used; 0: no limit",
                  nullptr, nullptr, 10, 0, 86400, 0);
MYSQL_SYSVAR_UINT(threads, threads, PLUGIN_VAR_READONLY,
                  "Threads that serve connections; 0: one for each core", nullptr, nullptr, 0, 0,
                  3000, 0);
MYSQL_SYSVAR_UINT(
    lock_wait_threads, lock_wait_threads, PLUGIN_VAR_READONLY,
    "Threads that wait for other sessions' locks: one for each row that is waited for", nullptr,
    nullptr, 64, 1, 3000, 0);
MYSQL_SYSVAR_UINT(wrlock_timeout, wrlock_timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds that a request waits for a table that is locked", nullptr, nullptr, 12,
                  0, 3600, 0);
MYSQL_SYSVAR_UINT(timeout, timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds after which an idle connection is closed; 0: never", nullptr, nullptr, 0,
                  0, 86400, 0);
MYSQL_SYSVAR_UINT(backlog, backlog, PLUGIN_VAR_READONLY, "Backlog of the listening sockets",
                  nullptr, nullptr, 32768, 5, 1000000, 0);
MYSQL_SYSVAR_UINT(sndbuf, sndbuf, PLUGIN_VAR_READONLY,
                  "SO_SNDBUF of connections, bytes; 0: the kernel's default", nullptr, nullptr, 0,
                  0, 16777216, 0);
MYSQL_SYSVAR_UINT(rcvbuf, rcvbuf, PLUGIN_VAR_READONLY,
                  "SO_RCVBUF of connections, bytes; 0: the kernel's default", nullptr, nullptr, 0,
                  0, 16777216, 0);
MYSQL_SYSVAR_UINT(r_batch_size, r_batch_size, PLUGIN_VAR_READONLY,
                  "Accepted for MySQL's configurations: reads that arrive together share one view, "
                  "and no view is kept for later ones",
                  nullptr, nullptr, 1, 1, 1073741824, 0);
MYSQL_SYSVAR_UINT(w_batch_size, w_batch_size, PLUGIN_VAR_READONLY,
                  "Accepted for MySQL's configurations: writes that arrive together share one "
                  "commit, and no reply is sent before it",
                  nullptr, nullptr, 1, 1, 1048576, 0);
MYSQL_SYSVAR_BOOL(enable_binlog, enable_binlog, PLUGIN_VAR_READONLY,
                  "Accepted for MySQL's configurations: writes are in the binary log when the "
                  "server has one",
                  nullptr, nullptr, true);
MYSQL_SYSVAR_BOOL(flush_all, flush_all, PLUGIN_VAR_READONLY,
                  "Allow flush_all, which deletes all rows of a container", nullptr, nullptr,
                  false);
MYSQL_SYSVAR_ULONGLONG(item_size_max, item_size_max, PLUGIN_VAR_READONLY, "Bytes of a value",
                       nullptr, nullptr, 1ull << 20, 1024, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(reply_max_bytes, reply_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes of the reply to one get of several keys", nullptr, nullptr,
                       64ull << 20, 1024, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(buffer_max_bytes, buffer_max_bytes, PLUGIN_VAR_READONLY,
                       "Unsent bytes after which a connection is paused", nullptr, nullptr,
                       1ull << 20, 4096, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(memory_max_bytes, memory_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes that connections may hold in unfinished requests and unsent replies, "
                       "all together",
                       nullptr, nullptr, 1ull << 30, 1ull << 20, 1ull << 40, 0);
MYSQL_SYSVAR_UINT(account_requests_per_second, account_requests_per_second, PLUGIN_VAR_OPCMDARG,
                  "Requests that all clients of one account may make in a second; 0: no limit",
                  nullptr, SetNumber<account_limits.requests_per_second>, 0, 0, 10000000, 0);
MYSQL_SYSVAR_UINT(account_share_percent, account_share_percent, PLUGIN_VAR_OPCMDARG,
                  "Percent of the places in a turn or batch that one account may have", nullptr,
                  SetNumber<account_limits.share_percent>, 100, 1, 100, 0);
MYSQL_SYSVAR_UINT(connections_max, connections_max, PLUGIN_VAR_READONLY, "Connections", nullptr,
                  nullptr, 65536, 1, 1u << 20, 0);
MYSQL_SYSVAR_ENUM(ssl, ssl, PLUGIN_VAR_READONLY,
                  "TLS with the server's certificate (ssl_cert, ssl_key): ON: the client's first "
                  "byte decides; REQUIRED: plain TCP connections are refused",
                  nullptr, nullptr, static_cast<unsigned long>(net::TlsMode::kOff), &tls_modes);
MYSQL_SYSVAR_ENUM(ssl_client_cert, ssl_client_cert, PLUGIN_VAR_READONLY,
                  "REQUIRED: a TLS client needs a certificate of an authority in ssl_ca", nullptr,
                  nullptr, static_cast<unsigned long>(ClientCert::kOptional), &client_cert_modes);
MYSQL_SYSVAR_UINT(purge_rows_per_second, purge_rows_per_second, PLUGIN_VAR_READONLY,
                  "Expired rows of a container that are removed in a second; 0: none", nullptr,
                  nullptr, 1000, 0, 10000000, 0);
MYSQL_SYSVAR_BOOL(housekeeping_on_replica, housekeeping_on_replica, PLUGIN_VAR_OPCMDARG,
                  "Remove expired rows and carry out delayed flushes also while this server has a "
                  "replication source, whose changes conflict with these",
                  nullptr, nullptr, false);
MYSQL_SYSVAR_LONGLONG(clock_offset, clock_offset_s, PLUGIN_VAR_OPCMDARG,
                      "For tests: seconds by which the clock that expiry goes by is ahead", nullptr,
                      SetClock, 0, -10000000000ll, 10000000000ll, 0);

MYSQL_SYSVAR_BOOL(slow_log_values, slow_log_values, PLUGIN_VAR_OPCMDARG,
                  "Show the values of slow requests in the slow query log, cut; else a question "
                  "mark stands for each",
                  nullptr, nullptr, true);
MYSQL_SYSVAR_ULONGLONG(kill_connection, kill_connection, PLUGIN_VAR_NOCMDOPT,
                       "Ends the connection with this id: see "
                       "information_schema.ROWSOCKET_CONNECTIONS",
                       CheckConnection<kName>, EndConnection<kName>, 0, 0, 1ull << 62, 0);

SystemVariable* sys_vars[] = {MYSQL_SYSVAR(option),
                              MYSQL_SYSVAR(engine_lib_name),
                              MYSQL_SYSVAR(engine_lib_path),
                              MYSQL_SYSVAR(address),
                              MYSQL_SYSVAR(port),
                              MYSQL_SYSVAR(socket),
                              MYSQL_SYSVAR(user),
                              MYSQL_SYSVAR(accounts),
                              MYSQL_SYSVAR(accounts_insecure),
                              MYSQL_SYSVAR(auth_threads),
                              MYSQL_SYSVAR(auth_timeout),
                              MYSQL_SYSVAR(threads),
                              MYSQL_SYSVAR(lock_wait_threads),
                              MYSQL_SYSVAR(wrlock_timeout),
                              MYSQL_SYSVAR(timeout),
                              MYSQL_SYSVAR(backlog),
                              MYSQL_SYSVAR(sndbuf),
                              MYSQL_SYSVAR(rcvbuf),
                              MYSQL_SYSVAR(r_batch_size),
                              MYSQL_SYSVAR(w_batch_size),
                              MYSQL_SYSVAR(enable_binlog),
                              MYSQL_SYSVAR(flush_all),
                              MYSQL_SYSVAR(item_size_max),
                              MYSQL_SYSVAR(reply_max_bytes),
                              MYSQL_SYSVAR(buffer_max_bytes),
                              MYSQL_SYSVAR(memory_max_bytes),
                              MYSQL_SYSVAR(connections_max),
                              MYSQL_SYSVAR(account_requests_per_second),
                              MYSQL_SYSVAR(account_share_percent),
                              MYSQL_SYSVAR(ssl),
                              MYSQL_SYSVAR(ssl_client_cert),
                              MYSQL_SYSVAR(purge_rows_per_second),
                              MYSQL_SYSVAR(housekeeping_on_replica),
                              MYSQL_SYSVAR(clock_offset),
                              MYSQL_SYSVAR(slow_log_values),
                              MYSQL_SYSVAR(kill_connection),
                              nullptr};

std::unique_ptr<Protocol> Make() { return std::make_unique<MemcachedProtocol>(TakeVariables()); }

void ShowOwn(const Protocol* protocol, ShownCounters* shown) {
  const auto* memcached = static_cast<const MemcachedProtocol*>(protocol);
  shown->AddOwn(frontend::kMemcachedStatInfo,
                memcached != nullptr ? &memcached->counters() : nullptr);
}

}  // namespace

bool KeepsHouseOnReplica() { return housekeeping_on_replica; }

const std::atomic<int64_t>* MemcachedClockAheadMs() { return &clock_offset_ms; }

constinit const Descriptor kMemcached = {
    kName,
    "Daemon_memcached",
    "Daemon_memcached_latency_since",
    "Rows over the memcached protocol, straight from the storage engine",
    sys_vars,
    Make,
    ShowOwn,
    {memcached::kVerbs, [](uint32_t verb) { return memcached::kVerbNames[verb]; }},
    [] { return static_cast<bool>(slow_log_values); },
};

}  // namespace rowsocket::plugin
