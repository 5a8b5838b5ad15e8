// The port of RESP.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <memory>
#include <string>

#include "frontend/resp/frontend.h"
#include "plugin/common_variables.h"
#include "plugin/protocol.h"
#include "plugin/shared_keyspaces.h"

namespace rowsocket::plugin {

struct RespVariables : CommonVariables {
  std::string schema;
  unsigned token_ttl_s = 0;
};

class RespProtocol final : public Protocol {
 public:
  explicit RespProtocol(RespVariables variables) : variables_(std::move(variables)) {}

  bool Configure(const Counted& counted, DaemonSettings* settings, std::string* error) override;
  bool StartHousekeeper(engine::SessionFactory& sessions, std::string* error) override;
  void StopHousekeeper() override;

 private:
  RespVariables variables_;
  frontend::RespInfo info_;
  frontend::RespClients clients_;
  frontend::RespCursors cursors_;
  frontend::RespScripts scripts_;
  frontend::RespShared shared_;
  std::shared_ptr<SharedKeyspaces> shared_keyspaces_;  ///< Null: there is no port.
};

}  // namespace rowsocket::plugin
