// What engine/server/declare.h describes, for MySQL.
#pragma once

#include "api.h"
#include "plugin_handle.h"
#include "wait_hook.h"

namespace rowsocket::plugin {

using ServerBool = bool;
using SystemVariable = SYS_VAR;
using StatusVariable = SHOW_VAR;
using DaemonInfo = st_mysql_daemon;
using PluginDeclaration = st_mysql_plugin;

}  // namespace rowsocket::plugin

// Included after the types that it names.
#include "engine/server/declare.h"

namespace rowsocket::plugin {

inline StatusVariable StatusOf(const char* name, unsigned long long* value) {
  return {name, reinterpret_cast<char*>(value), SHOW_LONGLONG, SHOW_SCOPE_GLOBAL};
}
inline StatusVariable FlushedStatus(const char* name, unsigned long* value) {
  return {name, reinterpret_cast<char*>(value), SHOW_LONG, SHOW_SCOPE_GLOBAL};
}
inline StatusVariable EndOfStatus() { return {nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF}; }
inline void ShowAll(StatusVariable* var, StatusVariable* all) {
  var->type = SHOW_ARRAY;
  var->value = reinterpret_cast<char*>(all);
}
template <typename Plugin>
int ShowPlugin(MYSQL_THD, StatusVariable* var, char*) {
  Plugin::Show(var);
  return 0;
}

inline void CompletePlugin(PluginDeclaration*) {}

template <typename Plugin>
int InitPlugin(MYSQL_PLUGIN handle) {
  engine::server::NotePlugin(handle);
  engine::server::WaitHook::Install();
  const int failed = Plugin::Init();
  if (failed == 0) return 0;
  engine::server::WaitHook::Remove();
  engine::server::ForgetPlugin(handle);
  return failed;
}

template <typename Plugin>
int DeinitPlugin(MYSQL_PLUGIN handle) {
  const int failed = Plugin::Deinit();
  engine::server::WaitHook::Remove();
  engine::server::ForgetPlugin(handle);
  return failed;
}

template <typename Plugin>
PluginDeclaration DeclarePlugin(DaemonInfo* info) {
  static StatusVariable status[] = {
      {Plugin::descriptor().status_name, reinterpret_cast<char*>(&ShowPlugin<Plugin>), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      Plugin::flushed(),
      EndOfStatus(),
  };
  PluginDeclaration plugin = NamedPlugin(MYSQL_DAEMON_PLUGIN, info, Plugin::descriptor().name,
                                         Plugin::descriptor().description);
  plugin.init = InitPlugin<Plugin>;
  plugin.deinit = DeinitPlugin<Plugin>;
  plugin.status_vars = status;
  plugin.system_vars = Plugin::descriptor().variables;
  return plugin;
}

}  // namespace rowsocket::plugin

#define ROWSOCKET_PLUGINS(...) mysql_declare_plugin(rowsocket) __VA_ARGS__ mysql_declare_plugin_end;
