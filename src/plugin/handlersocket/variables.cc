#include "plugin/handlersocket/variables.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "frontend/handlersocket/verbs.h"
#include "plugin/handlersocket/protocol.h"
#include "plugin/host.h"
#include "plugin/kill_variable.h"
#include "plugin/number_variable.h"

namespace rowsocket::plugin {
namespace {

constexpr const char* kName = "handlersocket";
unsigned long long kill_connection;

char* address;
char* port;
char* port_wr;
char* socket_path;
char* socket_path_wr;
char* plain_secret;
char* plain_secret_wr;
char* user;
char* user_wr;
unsigned threads, threads_wr, lock_wait_threads;
unsigned timeout_s, auth_timeout_s, wrlock_timeout_s;
unsigned backlog, sndbuf, rcvbuf, readsize, accept_balance, epoll_unused, verbose;
unsigned token_ttl_s;
unsigned long ssl, ssl_client_cert;
ServerBool tokens, accounts, accounts_insecure, slow_log_values;
unsigned auth_threads;
unsigned account_requests_per_second, account_share_percent;
/// The values of these two, for the workers.
exec::AccountLimitSettings account_limits;
unsigned index_ids_max, values_max, connections_max;
unsigned long long line_max_bytes, reply_max_bytes, buffer_max_bytes, memory_max_bytes;

/// As many workers as the original plugin has by default, for rows that come from the disk: all but
/// one rest (adr/0012).
constexpr unsigned kReadersMin = 16;

/// Takes the secret out of the variable, and leaves a mask that SHOW VARIABLES shows. SHOW
/// VARIABLES may read the variable right now.
std::string TakeSecret(char** variable) {
  const std::string secret = Text(*variable);
  if (secret.empty()) return secret;
  char* const mask = my_strdup(PSI_NOT_INSTRUMENTED, "********", MYF(MY_WME));
  mysql_mutex_lock(&LOCK_global_system_variables);
  char* const given = std::exchange(*variable, mask);
  mysql_mutex_unlock(&LOCK_global_system_variables);
  explicit_bzero(given, secret.size());
  my_free(given);
  return secret;
}

HandlerSocketVariables TakeVariables() {
  // SHOW VARIABLES then shows the number in use.
  if (threads == 0) threads = std::max(kReadersMin, ReadersForThisMachine());
  HandlerSocketVariables variables;
  variables.address = Text(address);
  variables.port = Text(port);
  variables.port_wr = Text(port_wr);
  variables.socket = Text(socket_path);
  variables.socket_wr = Text(socket_path_wr);
  variables.secret = TakeSecret(&plain_secret);
  variables.secret_wr = TakeSecret(&plain_secret_wr);
  variables.user = Text(user);
  variables.user_wr = Text(user_wr);
  variables.threads = threads;
  variables.threads_wr = threads_wr;
  variables.lock_wait_threads = lock_wait_threads;
  variables.wrlock_timeout_s = wrlock_timeout_s;
  variables.accounts = accounts;
  variables.accounts_insecure = accounts_insecure;
  variables.auth_threads = auth_threads;
  account_limits.requests_per_second.store(account_requests_per_second);
  account_limits.share_percent.store(account_share_percent);
  variables.account_limits = &account_limits;
  variables.listen.backlog = static_cast<int>(backlog);
  variables.listen.send_buffer_bytes = static_cast<int>(sndbuf);
  variables.listen.receive_buffer_bytes = static_cast<int>(rcvbuf);
  variables.tls = {static_cast<net::TlsMode>(ssl), static_cast<ClientCert>(ssl_client_cert)};
  variables.tokens.enabled = tokens;
  variables.tokens.ttl_s = token_ttl_s;
  variables.limits.line_bytes_max = line_max_bytes;
  variables.limits.index_ids_max = index_ids_max;
  variables.limits.values_max = values_max;
  variables.limits.reply_bytes_max = reply_max_bytes;
  variables.limits.connections_max = connections_max;
  variables.limits.buffered_bytes_max = buffer_max_bytes;
  variables.limits.memory_bytes_max = memory_max_bytes;
  variables.limits.idle_timeout_s = timeout_s;
  variables.limits.auth_timeout_s = auth_timeout_s;
  return variables;
}

MYSQL_SYSVAR_STR(address, address, kReadOnlyString,
                 "Addresses to listen on, separated by commas; default 127.0.0.1. \"/\": the port "
                 "is the path of a UNIX socket",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(port, port, kReadOnlyString, "Port for reading; not set: no such port", nullptr,
                 nullptr, nullptr);
MYSQL_SYSVAR_STR(port_wr, port_wr, kReadOnlyString,
                 "Port for reading and writing; not set: no such port", nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(socket, socket_path, kReadOnlyString, "Path of a UNIX socket for reading", nullptr,
                 nullptr, nullptr);
MYSQL_SYSVAR_STR(socket_wr, socket_path_wr, kReadOnlyString,
                 "Path of a UNIX socket for reading and writing", nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(plain_secret, plain_secret, kReadOnlyString,
                 "Secret that clients of the reading port must send; never shown", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_STR(plain_secret_wr, plain_secret_wr, kReadOnlyString,
                 "Secret that clients of the writing port must send; never shown", nullptr, nullptr,
                 nullptr);
MYSQL_SYSVAR_STR(user, user, kReadOnlyString,
                 "Account, as name@host, whose rights the clients of the reading port have; not "
                 "set: all rights",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_STR(user_wr, user_wr, kReadOnlyString,
                 "Account, as name@host, whose rights the clients of the writing port have; not "
                 "set: all rights",
                 nullptr, nullptr, nullptr);
MYSQL_SYSVAR_BOOL(
    accounts, accounts, PLUGIN_VAR_READONLY,
    "Let clients log in with accounts of the server, by A 1 user:password or A 2 user "
    "password; a client must log in, or give the secret if one is set",
    nullptr, nullptr, false);
MYSQL_SYSVAR_BOOL(accounts_insecure, accounts_insecure, PLUGIN_VAR_READONLY,
                  "Take the passwords of accounts also over TCP from other machines without TLS, "
                  "where others can read them",
                  nullptr, nullptr, false);
MYSQL_SYSVAR_UINT(auth_threads, auth_threads, PLUGIN_VAR_READONLY,
                  "Logins that are checked at a time: a login may wait for a name server or an "
                  "authentication plugin",
                  nullptr, nullptr, 4, 1, 256, 0);
MYSQL_SYSVAR_UINT(threads, threads, PLUGIN_VAR_READONLY,
                  "Threads of the reading port; 0: one for each core, at least 16", nullptr,
                  nullptr, 0, 0, 3000, 0);
MYSQL_SYSVAR_UINT(threads_wr, threads_wr, PLUGIN_VAR_READONLY, "Threads of the writing port",
                  nullptr, nullptr, 1, 1, 3000, 0);
MYSQL_SYSVAR_UINT(
    lock_wait_threads, lock_wait_threads, PLUGIN_VAR_READONLY,
    "Threads that wait for other sessions' locks: one for each row that is waited for", nullptr,
    nullptr, 64, 1, 3000, 0);
MYSQL_SYSVAR_UINT(timeout, timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds after which an idle connection is closed; 0: never", nullptr, nullptr,
                  300, 0, 86400, 0);
MYSQL_SYSVAR_UINT(auth_timeout, auth_timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds in which a client must authenticate where a secret is set; 0: no limit",
                  nullptr, nullptr, 10, 0, 86400, 0);
MYSQL_SYSVAR_UINT(wrlock_timeout, wrlock_timeout_s, PLUGIN_VAR_READONLY,
                  "Seconds that a request waits for a table that is locked (DDL, LOCK TABLES, "
                  "FLUSH TABLES WITH READ LOCK)",
                  nullptr, nullptr, 12, 0, 3600, 0);
MYSQL_SYSVAR_UINT(backlog, backlog, PLUGIN_VAR_READONLY, "Backlog of the listening sockets",
                  nullptr, nullptr, 32768, 5, 1000000, 0);
MYSQL_SYSVAR_UINT(sndbuf, sndbuf, PLUGIN_VAR_READONLY,
                  "SO_SNDBUF of connections, bytes; 0: the kernel's default", nullptr, nullptr, 0,
                  0, 16777216, 0);
MYSQL_SYSVAR_UINT(rcvbuf, rcvbuf, PLUGIN_VAR_READONLY,
                  "SO_RCVBUF of connections, bytes; 0: the kernel's default", nullptr, nullptr, 0,
                  0, 16777216, 0);
MYSQL_SYSVAR_UINT(readsize, readsize, PLUGIN_VAR_READONLY,
                  "Accepted for old configurations: the size of a read follows what arrives",
                  nullptr, nullptr, 0, 0, 16777216, 0);
MYSQL_SYSVAR_UINT(accept_balance, accept_balance, PLUGIN_VAR_READONLY,
                  "Accepted for old configurations: connections are always balanced", nullptr,
                  nullptr, 0, 0, 10000, 0);
MYSQL_SYSVAR_UINT(epoll, epoll_unused, PLUGIN_VAR_READONLY,
                  "Accepted for old configurations: epoll is always used", nullptr, nullptr, 1, 0,
                  1, 0);
MYSQL_SYSVAR_UINT(verbose, verbose, 0, "Accepted for old configurations", nullptr, nullptr, 10, 0,
                  10000, 0);
MYSQL_SYSVAR_ULONGLONG(line_max_bytes, line_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes of a request line", nullptr, nullptr, 16ull << 20, 1024, 1ull << 30,
                       0);
MYSQL_SYSVAR_BOOL(
    tokens, tokens, PLUGIN_VAR_READONLY,
    "Understand T <token> in front of a request, which then takes effect once however "
    "often it is sent; needs the table of rowsocket_tokens.sql",
    nullptr, nullptr, 0);
MYSQL_SYSVAR_UINT(token_ttl, token_ttl_s, PLUGIN_VAR_READONLY,
                  "Seconds for which a token and its answer are kept", nullptr, nullptr, 86400, 1,
                  1u << 30, 0);
MYSQL_SYSVAR_ENUM(ssl, ssl, PLUGIN_VAR_READONLY,
                  "TLS with the server's certificate (ssl_cert, ssl_key): ON: the client's first "
                  "byte decides; REQUIRED: plain TCP connections are refused",
                  nullptr, nullptr, static_cast<unsigned long>(net::TlsMode::kOff), &tls_modes);
MYSQL_SYSVAR_ENUM(ssl_client_cert, ssl_client_cert, PLUGIN_VAR_READONLY,
                  "REQUIRED: a TLS client needs a certificate of an authority in ssl_ca", nullptr,
                  nullptr, static_cast<unsigned long>(ClientCert::kOptional), &client_cert_modes);
MYSQL_SYSVAR_UINT(index_ids_max, index_ids_max, PLUGIN_VAR_READONLY,
                  "Index ids that a connection may open", nullptr, nullptr, 1024, 1, 1u << 20, 0);
MYSQL_SYSVAR_UINT(values_max, values_max, PLUGIN_VAR_READONLY, "Values in one request", nullptr,
                  nullptr, 10000, 32, 1u << 24, 0);
MYSQL_SYSVAR_ULONGLONG(reply_max_bytes, reply_max_bytes, PLUGIN_VAR_READONLY, "Bytes of one reply",
                       nullptr, nullptr, 64ull << 20, 1024, 1ull << 30, 0);
MYSQL_SYSVAR_UINT(account_requests_per_second, account_requests_per_second, PLUGIN_VAR_OPCMDARG,
                  "Requests that all clients of one account may make in a second; 0: no limit",
                  nullptr, SetNumber<account_limits.requests_per_second>, 0, 0, 10000000, 0);
MYSQL_SYSVAR_UINT(account_share_percent, account_share_percent, PLUGIN_VAR_OPCMDARG,
                  "Percent of the places in a turn or batch that one account may have", nullptr,
                  SetNumber<account_limits.share_percent>, 100, 1, 100, 0);
MYSQL_SYSVAR_UINT(connections_max, connections_max, PLUGIN_VAR_READONLY, "Connections of one port",
                  nullptr, nullptr, 65536, 1, 1u << 20, 0);
MYSQL_SYSVAR_ULONGLONG(buffer_max_bytes, buffer_max_bytes, PLUGIN_VAR_READONLY,
                       "Unsent bytes after which a connection is paused", nullptr, nullptr,
                       1ull << 20, 4096, 1ull << 30, 0);
MYSQL_SYSVAR_ULONGLONG(memory_max_bytes, memory_max_bytes, PLUGIN_VAR_READONLY,
                       "Bytes that the connections of one port may hold in unfinished requests and "
                       "unsent replies, all together",
                       nullptr, nullptr, 1ull << 30, 1ull << 20, 1ull << 40, 0);

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
                              MYSQL_SYSVAR(port_wr),
                              MYSQL_SYSVAR(socket),
                              MYSQL_SYSVAR(socket_wr),
                              MYSQL_SYSVAR(plain_secret),
                              MYSQL_SYSVAR(plain_secret_wr),
                              MYSQL_SYSVAR(user),
                              MYSQL_SYSVAR(user_wr),
                              MYSQL_SYSVAR(accounts),
                              MYSQL_SYSVAR(accounts_insecure),
                              MYSQL_SYSVAR(auth_threads),
                              MYSQL_SYSVAR(threads),
                              MYSQL_SYSVAR(threads_wr),
                              MYSQL_SYSVAR(lock_wait_threads),
                              MYSQL_SYSVAR(timeout),
                              MYSQL_SYSVAR(auth_timeout),
                              MYSQL_SYSVAR(wrlock_timeout),
                              MYSQL_SYSVAR(backlog),
                              MYSQL_SYSVAR(sndbuf),
                              MYSQL_SYSVAR(rcvbuf),
                              MYSQL_SYSVAR(readsize),
                              MYSQL_SYSVAR(accept_balance),
                              MYSQL_SYSVAR(epoll),
                              MYSQL_SYSVAR(verbose),
                              MYSQL_SYSVAR(line_max_bytes),
                              MYSQL_SYSVAR(tokens),
                              MYSQL_SYSVAR(token_ttl),
                              MYSQL_SYSVAR(ssl),
                              MYSQL_SYSVAR(ssl_client_cert),
                              MYSQL_SYSVAR(index_ids_max),
                              MYSQL_SYSVAR(values_max),
                              MYSQL_SYSVAR(reply_max_bytes),
                              MYSQL_SYSVAR(account_requests_per_second),
                              MYSQL_SYSVAR(account_share_percent),
                              MYSQL_SYSVAR(connections_max),
                              MYSQL_SYSVAR(buffer_max_bytes),
                              MYSQL_SYSVAR(memory_max_bytes),
                              MYSQL_SYSVAR(slow_log_values),
                              MYSQL_SYSVAR(kill_connection),
                              nullptr};

std::unique_ptr<Protocol> Make() {
  return std::make_unique<HandlerSocketProtocol>(TakeVariables());
}

}  // namespace

constinit const Descriptor kHandlerSocket = {
    kName,
    "Handlersocket",
    "Handlersocket_latency_since",
    "Rows over the HandlerSocket protocol, straight from the storage engine",
    sys_vars,
    Make,
    /*show_own=*/nullptr,
    {std::size(frontend::kHandlerSocketVerbNames),
     [](uint32_t verb) { return frontend::kHandlerSocketVerbNames[verb]; }},
    [] { return static_cast<bool>(slow_log_values); },
};

}  // namespace rowsocket::plugin
