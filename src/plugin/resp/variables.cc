#include "plugin/resp/variables.h"

#include <memory>
#include <string>

#include "plugin/host.h"
#include "plugin/kill_variable.h"
#include "plugin/number_variable.h"
#include "plugin/resp/protocol.h"

namespace rowsocket::plugin {

namespace {

constexpr const char* kName = "resp";
unsigned long long kill_connection;

char* address;
char* port;
char* socket_path;
char* user;
char* schema;
unsigned threads, lock_wait_threads, wrlock_timeout_s, timeout_s, backlog, connections_max;
unsigned account_requests_per_second, account_share_percent;
/// The values of these two, for the workers.
exec::AccountLimitSettings account_limits;
unsigned long long request_max_bytes, reply_max_bytes, buffer_max_bytes, memory_max_bytes;
unsigned auth_threads, auth_timeout_s, token_ttl_s;
ServerBool accounts, accounts_insecure, slow_log_values;
unsigned long ssl, ssl_client_cert;

RespVariables TakeVariables() {
  // SHOW VARIABLES then shows the number in use.
  if (threads == 0) threads = ReadersForThisMachine();
  RespVariables variables;
  variables.address = Text(address);
  variables.port = Text(port);
  variables.socket = Text(socket_path);
  variables.user = Text(user);
  variables.schema = Text(schema);
  variables.threads = threads;
  variables.lock_wait_threads = lock_wait_threads;
  variables.wrlock_timeout_s = wrlock_timeout_s;
  variables.token_ttl_s = token_ttl_s;
  variables.accounts = accounts;
  variables.accounts_insecure = accounts_insecure;
  variables.auth_threads = auth_threads;
  account_limits.requests_per_second.store(account_requests_per_second);
  account_limits.share_percent.store(account_share_percent);
  variables.account_limits = &account_limits;
  variables.tls = {static_cast<net::TlsMode>(ssl), static_cast<ClientCert>(ssl_client_cert)};
  variables.listen.backlog = static_cast<int>(backlog);
  variables.limits.auth_timeout_s = auth_timeout_s;
  variables.limits.line_bytes_max = request_max_bytes;
  variables.limits.reply_bytes_max = reply_max_bytes;
  variables.limits.connections_max = connections_max;
  variables.limits.buffered_bytes_max = buffer_max_bytes;
  variables.limits.memory_bytes_max = memory_max_bytes;
  variables.limits.idle_timeout_s = timeout_s;
  return variables;
}

MYSQL_SYSVAR_STR(address, address, kReadOnlyString,
                 "Addresses to listen on, separated by commas; default 127.0.0.1", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_STR(port, port, kReadOnlyString, "Port, Redis's is 6379; 0: none", nullptr, nullptr,
                 "0");
MYSQL_SYSVAR_STR(socket, socket_path, kReadOnlyString, "Path of a UNIX socket", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_STR(schema, schema, kReadOnlyString,
                 "Schema of keys that name none, table:key; not set: keys are schema.table:key",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(user, user, kReadOnlyString,
                 "Account, as name@host, whose rights all clients have; not set: all rights",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_BOOL(accounts, accounts, PLUGIN_VAR_READONLY,
                  "Clients must log in with an account of the server: AUTH, or HELLO with AUTH",
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
MYSQL_SYSVAR_UINT(token_ttl, token_ttl_s, PLUGIN_VAR_READONLY,
                  "Seconds for which a token of ROW.ONCE and its reply are kept; needs the table "
                  "of rowsocket_tokens.sql",
                  nullptr, nullptr, 86400, 1, 1u << 30, 0);
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
MYSQL_SYSVAR_ULONGLONG(request_max_bytes, request_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes of a command, or of the commands of a MULTI", nullptr, nullptr,
                       16ull << 20, 4096, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(reply_max_bytes, reply_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes of the reply to one command", nullptr, nullptr, 64ull << 20, 1024,
                       1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(buffer_max_bytes, buffer_max_bytes, PLUGIN_VAR_READONLY,
                       "Unsent bytes after which a connection is paused", nullptr, nullptr,
                       1ull << 20, 4096, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(memory_max_bytes, memory_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes that connections may hold in unfinished requests and unsent replies, "
                       "all together",
                       nullptr, nullptr, 1ull << 30, 1ull << 20, 1ull << 40, 0);
MYSQL_SYSVAR_UINT(connections_max, connections_max, PLUGIN_VAR_READONLY, "Connections", nullptr,
                  nullptr, 65536, 1, 1u << 20, 0);
MYSQL_SYSVAR_UINT(account_requests_per_second, account_requests_per_second, PLUGIN_VAR_OPCMDARG,
                  "Requests that all clients of one account may make in a second; 0: no limit",
                  nullptr, SetNumber<account_limits.requests_per_second>, 0, 0, 10000000, 0);
MYSQL_SYSVAR_UINT(account_share_percent, account_share_percent, PLUGIN_VAR_OPCMDARG,
                  "Percent of the places in a turn or batch that one account may have", nullptr,
                  SetNumber<account_limits.share_percent>, 100, 1, 100, 0);
MYSQL_SYSVAR_ENUM(ssl, ssl, PLUGIN_VAR_READONLY,
                  "TLS with the server's certificate (ssl_cert, ssl_key): ON: the client's first "
                  "byte decides; REQUIRED: plain TCP connections are refused",
                  nullptr, nullptr, static_cast<unsigned long>(net::TlsMode::kOff), &tls_modes);
MYSQL_SYSVAR_ENUM(ssl_client_cert, ssl_client_cert, PLUGIN_VAR_READONLY,
                  "REQUIRED: a TLS client needs a certificate of an authority in ssl_ca", nullptr,
                  nullptr, static_cast<unsigned long>(ClientCert::kOptional), &client_cert_modes);

MYSQL_SYSVAR_BOOL(slow_log_values, slow_log_values, PLUGIN_VAR_OPCMDARG,
                  "Show the values of slow requests in the slow query log, cut; else a question "
                  "mark stands for each",
                  nullptr, nullptr, true);
MYSQL_SYSVAR_ULONGLONG(kill_connection, kill_connection, PLUGIN_VAR_NOCMDOPT,
                       "Ends the connection with this id: see "
                       "information_schema.ROWSOCKET_CONNECTIONS",
                       CheckConnection<kName>, EndConnection<kName>, 0, 0, 1ull << 62, 0);

SystemVariable* sys_vars[] = {MYSQL_SYSVAR(address),
                              MYSQL_SYSVAR(port),
                              MYSQL_SYSVAR(socket),
                              MYSQL_SYSVAR(schema),
                              MYSQL_SYSVAR(user),
                              MYSQL_SYSVAR(accounts),
                              MYSQL_SYSVAR(accounts_insecure),
                              MYSQL_SYSVAR(auth_threads),
                              MYSQL_SYSVAR(auth_timeout),
                              MYSQL_SYSVAR(token_ttl),
                              MYSQL_SYSVAR(threads),
                              MYSQL_SYSVAR(lock_wait_threads),
                              MYSQL_SYSVAR(wrlock_timeout),
                              MYSQL_SYSVAR(timeout),
                              MYSQL_SYSVAR(backlog),
                              MYSQL_SYSVAR(request_max_bytes),
                              MYSQL_SYSVAR(reply_max_bytes),
                              MYSQL_SYSVAR(buffer_max_bytes),
                              MYSQL_SYSVAR(memory_max_bytes),
                              MYSQL_SYSVAR(connections_max),
                              MYSQL_SYSVAR(account_requests_per_second),
                              MYSQL_SYSVAR(account_share_percent),
                              MYSQL_SYSVAR(ssl),
                              MYSQL_SYSVAR(ssl_client_cert),
                              MYSQL_SYSVAR(slow_log_values),
                              MYSQL_SYSVAR(kill_connection),
                              nullptr};

std::unique_ptr<Protocol> Make() { return std::make_unique<RespProtocol>(TakeVariables()); }

}  // namespace

constinit const Descriptor kResp = {
    kName,
    "Resp",
    "Resp_latency_since",
    "Rows as hashes over RESP, the protocol of Redis's clients, straight from the storage engine",
    sys_vars,
    Make,
    /*show_own=*/nullptr,
    {frontend::kRespVerbs, frontend::RespVerbName},
    [] { return static_cast<bool>(slow_log_values); },
};

}  // namespace rowsocket::plugin
