#include "plugin/resp/variables.h"

#include <memory>
#include <string>

#include "plugin/audit_variable.h"
#include "plugin/common_variables.h"
#include "plugin/host.h"
#include "plugin/resp/protocol.h"

namespace rowsocket::plugin {

namespace {

constexpr const char* kName = "resp";

ROWSOCKET_COMMON_SETTERS("resp")

#include "plugin/resp/variables.inc"

RespVariables TakeVariables() {
  RespVariables variables;
  TakeCommon<"resp">(&values, ReadersForThisMachine(), &variables);
  variables.schema = Text(values.schema);
  variables.token_ttl_s = values.token_ttl;
  variables.limits.line_bytes_max = values.request_max_bytes;
  return variables;
}

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
    {frontend::kRespCommandNumbers, frontend::RespCommandName},
    [] { return static_cast<bool>(values.slow_log_values); },
    [] { return static_cast<bool>(values.audit); },
};

}  // namespace rowsocket::plugin
