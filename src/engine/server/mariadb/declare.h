// What engine/server/declare.h describes, for MariaDB.
#pragma once

#include "api.h"
#include "model/version.h"

namespace rowsocket::plugin {

using ServerBool = my_bool;
using SystemVariable = st_mysql_sys_var;
using StatusVariable = st_mysql_show_var;
using DaemonInfo = st_mysql_daemon;
using PluginDeclaration = st_maria_plugin;

}  // namespace rowsocket::plugin

// Included after the types that it names.
#include "engine/server/declare.h"

namespace rowsocket::plugin {

inline StatusVariable StatusOf(const char* name, unsigned long long* value) {
  return {name, value, SHOW_LONGLONG};
}
/// In MariaDB 11.5 and newer, FLUSH GLOBAL STATUS sets the number to 0.
inline StatusVariable FlushedStatus(const char* name, unsigned long* value) {
  return {name, value, SHOW_LONG};
}
inline StatusVariable EndOfStatus() { return {nullptr, nullptr, SHOW_UNDEF}; }
inline void ShowAll(StatusVariable* var, StatusVariable* all) {
  var->type = SHOW_ARRAY;
  var->value = all;
}
template <typename Plugin>
int ShowPlugin(MYSQL_THD, StatusVariable* var, void*, system_status_var*, enum_var_type) {
  Plugin::Show(var);
  return 0;
}

inline void CompletePlugin(PluginDeclaration* plugin) {
  plugin->version_info = model::kVersion;
  plugin->maturity = MariaDB_PLUGIN_MATURITY_GAMMA;
}

template <typename Plugin>
PluginDeclaration DeclarePlugin(DaemonInfo* info) {
  static StatusVariable status[] = {
      {Plugin::descriptor().status_name, reinterpret_cast<void*>(&ShowPlugin<Plugin>), SHOW_FUNC},
      Plugin::flushed(),
      EndOfStatus(),
  };
  PluginDeclaration plugin = NamedPlugin(MYSQL_DAEMON_PLUGIN, info, Plugin::descriptor().name,
                                         Plugin::descriptor().description);
  plugin.init = [](void*) { return Plugin::Init(); };
  plugin.deinit = [](void*) { return Plugin::Deinit(); };
  plugin.status_vars = status;
  plugin.system_vars = Plugin::descriptor().variables;
  return plugin;
}

}  // namespace rowsocket::plugin

#define ROWSOCKET_PLUGINS(...) maria_declare_plugin(rowsocket) __VA_ARGS__ maria_declare_plugin_end;
