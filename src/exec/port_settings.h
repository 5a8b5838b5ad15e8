// The settings of a port: the plugin fills them in, and each part of each worker reads them.
//
// Lifetime: a Port keeps its own copy, which outlives its workers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/session.h"
#include "exec/account_limits.h"
#include "exec/handshake_thread.h"
#include "exec/hot_rows.h"
#include "exec/latency.h"
#include "exec/login_desk.h"
#include "exec/slow_log.h"
#include "exec/usage.h"
#include "model/limits.h"
#include "net/listener.h"

namespace rowsocket::exec {

struct PortSettings {
  const char* plugin = "";  ///< The plugin's name; static.
  /// The port's mode as the process list and information_schema show it: `mode=rd`.
  std::string mode;
  unsigned workers = 1;
  // The variables that messages name, by what an administrator changes with them:
  std::string workers_variable;             ///< How many workers there are.
  std::string connections_variable;         ///< How many connections may be open.
  std::string memory_variable;              ///< What connections may hold in buffers.
  LatencyRegistry* latency = nullptr;       ///< Null: latencies are not counted.
  HotRows* hot_rows = nullptr;              ///< Null: hot rows are not looked for.
  Usage* usage = nullptr;                   ///< Null: use by table and account is not counted.
  SlowLog* slow_log = nullptr;              ///< Null: slow requests are not noted.
  AccountLimits* account_limits = nullptr;  ///< Null: none. Shared by the ports of a plugin.
  bool elastic = false;                     ///< Workers rest if fewer do as much: see WorkerPool.
  LoginDesk* login_desk = nullptr;          ///< Null: no frontend asks for logins.
  /// Other machines may send passwords of accounts without TLS.
  bool takes_passwords_in_clear = false;
  bool writes = false;  ///< The frontends let writes through.
  /// For how many milliseconds a turn or batch goes on beginning requests. Tests choose another
  /// time.
  int64_t turn_ms_max = model::kTurnMsMax;
  /// Brings up to date what the frontends share. Workers call it before each turn; `now`: a
  /// frontend asked for it in the turn before. May be empty.
  std::function<void(engine::Session&, bool now)> prepare;
  HandshakeSettings handshakes;
  /// Whether the port may serve; if not, its listeners refuse connections. Without a value: that
  /// cannot be known now, and is asked again a moment later. Called on workers' threads once the
  /// server has started. May be empty.
  std::function<std::optional<bool>()> may_serve;
  std::vector<net::Address> addresses;
  net::ListenOptions listen;
  model::Limits limits;
};

}  // namespace rowsocket::exec
