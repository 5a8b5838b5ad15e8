// How plugins, their variables and their counters are declared to a server. Declared and described
// here, for src/plugin; declare.h in each family's folder defines what differs.
//
// The family's declare.h defines these types before it includes this file:
//
//   ServerBool         the type of a variable that is ON or OFF
//   SystemVariable     a row of a plugin's list of variables
//   StatusVariable     a row of a plugin's list of counters, or of SHOW STATUS
//   DaemonInfo         what the server wants to know of a daemon plugin besides: its own version
//   PluginDeclaration  a plugin of a library
//
// After that it defines ROWSOCKET_PLUGINS(...), which makes the library's list of plugins from its
// arguments.
#pragma once

namespace rowsocket::plugin {

// --- Counters: rows of SHOW STATUS ---

inline StatusVariable StatusOf(const char* name, unsigned long long* value);
/// A number that FLUSH STATUS sets to 0.
inline StatusVariable FlushedStatus(const char* name, unsigned long* value);
inline StatusVariable EndOfStatus();
/// Answers one counter with a list of counters: `all` ends with EndOfStatus.
inline void ShowAll(StatusVariable* var, StatusVariable* all);

// --- Plugins ---

/// Adds what only this server has to be told about every plugin.
inline void CompletePlugin(PluginDeclaration* plugin);
/// A plugin without functions, variables and counters. `type`: a number MYSQL_..._PLUGIN; `info`:
/// what the server wants to know of a plugin of this type.
inline PluginDeclaration NamedPlugin(int type, void* info, const char* name,
                                     const char* description) {
  PluginDeclaration plugin{};
  plugin.type = type;
  plugin.info = info;
  plugin.name = name;
  plugin.author = "Rowsocket";
  plugin.descr = description;
  plugin.license = PLUGIN_LICENSE_GPL;
  plugin.version = 0x0100;
  CompletePlugin(&plugin);
  return plugin;
}

/// A daemon plugin. Plugin::Init and Plugin::Deinit start and stop it, Plugin::Show answers its
/// counters, Plugin::flushed() is a counter that FLUSH STATUS sets to 0, and Plugin::descriptor()
/// has its name, description and variables.
///
/// The server accepts only a daemon plugin with exactly its own version, and its refusal does not
/// name the plugin's version. So plugins claim to have the server's version (`info`), and Init
/// refuses with a message that names both versions.
template <typename Plugin>
PluginDeclaration DeclarePlugin(DaemonInfo* info);

}  // namespace rowsocket::plugin
