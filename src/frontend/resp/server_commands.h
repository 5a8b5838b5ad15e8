// What tools ask about a RESP port's server, and get without the engine: PING, CONFIG, COMMAND,
// CLIENT, SCRIPT and the like; INFO, if it counts no keys (RespFrontend::PrepareInfo).
//
// Flow: Append for each such command. It takes the replies to INFO, LATENCY, SLOWLOG and HOTKEYS
// from monitor.h, and those to CLIENT from own_client.h.
// Threads: one at a time.
// Lifetime: one for each connection; what the port shares and the connection's parts outlive it.
// Limits: kRespConfigPatternsMax patterns of CONFIG GET, of kRespPatternBytesMax bytes each.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "exec/frontend.h"
#include "frontend/resp/command.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/monitor.h"
#include "frontend/resp/own_client.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "model/account.h"

namespace rowsocket::frontend {

class RespServerCommands {
 public:
  RespServerCommands(const RespShared& shared, const RespState& state,
                     const RespKeyLocator& locator, const RespMonitor& monitor,
                     RespOwnClient& own_client)
      : shared_(shared),
        state_(state),
        locator_(locator),
        monitor_(monitor),
        own_client_(own_client) {}

  /// Appends the reply to a command. False: the command is none of those above. `account`: the
  /// connection's; null: it may do everything.
  bool Append(RespVerb verb, RespArguments arguments, const model::Account* account,
              base::Buffer& out, exec::Item* item);

 private:
  void AppendConfig(RespArguments arguments, base::Buffer& out) const;
  void AppendScript(RespArguments arguments, base::Buffer& out) const;
  void AppendRole(base::Buffer& out) const;

  const RespShared& shared_;
  const RespState& state_;
  const RespKeyLocator& locator_;
  const RespMonitor& monitor_;
  RespOwnClient& own_client_;
};

}  // namespace rowsocket::frontend
