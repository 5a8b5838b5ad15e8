// The declaration of the plugins of this library: one for each protocol's descriptor.
#include "declare.h"
#include "plugin/connections_table.h"
#include "plugin/daemon.h"
#include "plugin/handlersocket/variables.h"
#include "plugin/host.h"
#include "plugin/hot_rows_table.h"
#include "plugin/latency_table.h"
#include "plugin/memcached/variables.h"
#include "plugin/resp/variables.h"
#include "plugin/usage_tables.h"

namespace rowsocket::plugin {
namespace {

DaemonInfo daemon_info = {static_cast<int>(RunningVersionId() << 8)};

Daemon handlersocket(kHandlerSocket);
Daemon memcached(kMemcached);
Daemon resp(kResp);
Daemon* const daemons[] = {&handlersocket, &memcached, &resp, nullptr};

/// The functions of one daemon, which the server calls without an argument that would identify the
/// daemon.
template <Daemon& daemon>
struct Plugin {
  static int Init() { return daemon.Init(); }
  static int Deinit() { return daemon.Deinit(); }
  static void Show(StatusVariable* var) { daemon.Show(var); }
  static StatusVariable flushed() {
    return FlushedStatus(daemon.descriptor().since_name, daemon.latency_since());
  }
  static const Descriptor& descriptor() { return daemon.descriptor(); }
};

}  // namespace
}  // namespace rowsocket::plugin

using namespace rowsocket::plugin;  // The macro below names things of the namespace.

ROWSOCKET_PLUGINS(DeclarePlugin<Plugin<handlersocket>>(&daemon_info),
                  DeclarePlugin<Plugin<memcached>>(&daemon_info),
                  DeclarePlugin<Plugin<resp>>(&daemon_info), ConnectionsTable(daemons),
                  LatencyTable(daemons), HotRowsTable(daemons), TableStatistics(daemons),
                  UserStatistics(daemons))
