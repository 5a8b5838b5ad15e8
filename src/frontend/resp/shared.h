// The settings that all connections of one RESP port share, and the objects that they share.
//
// Threads: any; no member changes once the port has connections.
// Lifetime: outlives the connections, as does everything that it points to.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "exec/hot_rows.h"
#include "exec/latency.h"
#include "exec/slow_log.h"
#include "exec/stats.h"
#include "exec/token_book.h"
#include "frontend/resp/clients.h"
#include "frontend/resp/cursors.h"
#include "frontend/resp/info.h"
#include "frontend/resp/scripts.h"
#include "keyspace/keyspaces.h"
#include "model/account.h"
#include "model/health.h"
#include "model/limits.h"

namespace rowsocket::frontend {

struct RespShared {
  bool accounts = false;  ///< Clients log in with accounts of the server.
  /// The account of connections that have not logged in with another one; null: they may do
  /// everything.
  std::shared_ptr<const model::Account> account;
  std::string schema;   ///< The schema of tables that are named without one; empty: there is none.
  std::string version;  ///< The library's.
  std::function<model::Health()> health;
  const exec::StatRegistry* stats = nullptr;
  const exec::LatencyRegistry* latency = nullptr;
  exec::SlowLog* slow = nullptr;             ///< What SLOWLOG tells; null: nothing.
  exec::HotRows* hot_rows = nullptr;         ///< What HOTKEYS tells; null: nothing.
  RespInfo* info = nullptr;                  ///< What INFO tells.
  const char* plugin = "resp";               ///< The name under which the ConnectionBook has the
                                             ///< connections.
  RespClients* clients = nullptr;            ///< The port's connections.
  RespScripts* scripts = nullptr;            ///< Scripts that clients have brought.
  keyspace::Keyspaces* keyspaces = nullptr;  ///< The server's keyspaces; null: there are none.
  RespCursors* cursors = nullptr;            ///< How far the SCANs of all clients have come.
  exec::TokenSettings tokens;                ///< How long ROW.ONCE keeps tokens, if it is served.
  model::Limits limits;

  /// Whether the server takes writes now.
  bool takes_writes() const { return !health || health().writes; }
};

}  // namespace rowsocket::frontend
