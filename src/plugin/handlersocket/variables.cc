#include "plugin/handlersocket/variables.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "frontend/handlersocket/verbs.h"
#include "plugin/audit_variable.h"
#include "plugin/common_variables.h"
#include "plugin/handlersocket/protocol.h"
#include "plugin/host.h"

namespace rowsocket::plugin {
namespace {

constexpr const char* kName = "handlersocket";

ROWSOCKET_COMMON_SETTERS("handlersocket")

#include "plugin/handlersocket/variables.inc"

/// The original plugin's number of workers, which helps when rows come from the disk. All but one
/// rest until they are needed (adr/0012).
constexpr unsigned kReadersMin = 16;

/// Takes the secret out of the variable, and leaves a mask that SHOW VARIABLES shows. Another
/// thread may read the variable for SHOW VARIABLES at the same time.
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
  HandlerSocketVariables variables;
  TakeCommon<"handlersocket">(&values, std::max(kReadersMin, ReadersForThisMachine()), &variables);
  variables.port_wr = Text(values.port_wr);
  variables.socket_wr = Text(values.socket_wr);
  variables.secret = TakeSecret(&values.plain_secret);
  variables.secret_wr = TakeSecret(&values.plain_secret_wr);
  variables.user_wr = Text(values.user_wr);
  variables.threads_wr = values.threads_wr;
  variables.listen.send_buffer_bytes = static_cast<int>(values.sndbuf);
  variables.listen.receive_buffer_bytes = static_cast<int>(values.rcvbuf);
  variables.serves_tokens = values.tokens;
  variables.tokens.ttl_s = values.token_ttl;
  variables.limits.line_bytes_max = values.line_max_bytes;
  variables.limits.index_ids_max = values.index_ids_max;
  variables.limits.values_max = values.values_max;
  return variables;
}

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
    [] { return static_cast<bool>(values.slow_log_values); },
    [] { return static_cast<bool>(values.audit); },
};

}  // namespace rowsocket::plugin
