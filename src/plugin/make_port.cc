#include "plugin/make_port.h"

namespace rowsocket::plugin {

void TakeCommonSettings(const CommonVariables& variables, bool asks_for_logins,
                        DaemonSettings* settings) {
  settings->lock_wait_threads = variables.lock_wait_threads;
  settings->checks_accounts = variables.accounts;
  if (asks_for_logins) settings->auth_threads = variables.auth_threads;
  settings->account_limits = variables.account_limits;
}

exec::PortSettings MakePort(const CommonVariables& variables, const std::string& plugin,
                            bool must_authenticate) {
  exec::PortSettings port;
  port.mode = "mode=rw";
  port.workers = variables.threads;
  port.workers_variable = plugin + "_threads";
  port.connections_variable = plugin + "_connections_max";
  port.memory_variable = plugin + "_memory_max_bytes";
  port.elastic = true;
  port.writes = true;
  port.takes_passwords_in_clear = variables.accounts_insecure;
  port.listen = variables.listen;
  port.listen.variables = {plugin + "_address", plugin + "_port", plugin + "_socket"};
  // If clients must authenticate, the socket is open to all users, like the server's own socket.
  if (must_authenticate) port.listen.unix_mode = 0777;
  port.limits = variables.limits;
  // A handshake has a time limit even if clients may take as long as they like to authenticate.
  if (variables.limits.auth_timeout_s != 0) {
    port.handshakes.timeout_s = variables.limits.auth_timeout_s;
    port.handshakes.counts_from_connection = must_authenticate;
  }
  if (!must_authenticate) port.limits.auth_timeout_s = 0;
  return port;
}

}  // namespace rowsocket::plugin
