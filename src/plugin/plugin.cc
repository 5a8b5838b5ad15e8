// The declaration of the plugins of this library: one for each protocol's descriptor.
#include "api.h"
#include "plugin/daemon.h"
#include "plugin/handlersocket/variables.h"
#include "plugin/host.h"
#include "plugin/memcached/variables.h"

namespace rowsocket::plugin {
namespace {

/// The server accepts a daemon plugin with exactly its own version only, and does not tell the
/// version that the plugin has. This one claims to have the server's version, and Init refuses with
/// both versions.
struct DaemonInfo : st_mysql_daemon {
  DaemonInfo() : st_mysql_daemon{static_cast<int>(RunningVersion() << 8)} {}
} daemon_info;

Daemon handlersocket(kHandlerSocket);
Daemon memcached(kMemcached);

/// Start and stop functions for one daemon: the server calls them without an argument that would
/// tell the daemon.
template <Daemon& daemon>
int Init(void*) {
  return daemon.Init();
}

template <Daemon& daemon>
int Deinit(void*) {
  return daemon.Deinit();
}

template <Daemon& daemon>
int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  daemon.Show(var);
  return 0;
}

template <Daemon& daemon>
st_maria_plugin Declaration() {
  const Descriptor& descriptor = daemon.descriptor();
  static st_mysql_show_var status[] = {
      {descriptor.status_name, reinterpret_cast<void*>(&Show<daemon>), SHOW_FUNC},
      {nullptr, nullptr, SHOW_UNDEF},
  };
  return {
      MYSQL_DAEMON_PLUGIN,
      &daemon_info,
      descriptor.name,
      "Rowsocket",
      descriptor.description,
      PLUGIN_LICENSE_GPL,
      Init<daemon>,
      Deinit<daemon>,
      0x0100,
      status,
      descriptor.variables,
      "0.1.0",
      MariaDB_PLUGIN_MATURITY_GAMMA,
  };
}

}  // namespace
}  // namespace rowsocket::plugin

using namespace rowsocket::plugin;  // The macro below names things of the namespace.

maria_declare_plugin(rowsocket) Declaration<handlersocket>(), Declaration<memcached>()
                                                                  maria_declare_plugin_end;
