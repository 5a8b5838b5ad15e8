// The variable with which an operator ends one client's connection: SET GLOBAL
// handlersocket_kill_connection = ID, as information_schema.ROWSOCKET_CONNECTIONS shows it.
//
// Threads: the server calls under its own locks; ending a connection waits for nobody.
// Errors: a number that no connection of the plugin has is refused. The variable stays 0.
#pragma once

#include <algorithm>
#include <cstddef>

#include "declare.h"
#include "exec/connection_book.h"
#include "plugin/host.h"

namespace rowsocket::plugin {

/// A plugin's name as the argument of a template, since GCC 14 takes templates whose arguments name
/// objects of unnamed namespaces for one function in all files, if these objects have one name.
template <size_t kBytes>
struct PluginName {
  constexpr PluginName(const char (&name)[kBytes]) { std::copy_n(name, kBytes, text); }
  char text[kBytes];
};

template <PluginName kPlugin>
int CheckConnection(MYSQL_THD, SystemVariable*, void* save, st_mysql_value* value) {
  long long id = 0;
  const bool is_null = value->val_int(value, &id) != 0;
  const auto number = static_cast<unsigned long long>(id);
  *static_cast<unsigned long long*>(save) = number;
  if (!is_null && (number == 0 || exec::ConnectionBook::Shared().Has(kPlugin.text, number)))
    return 0;
  ReportNoConnection(kPlugin.text, number);
  return 1;
}

/// Ends the connection. 0, the default, ends nothing; nor is it an error if the connection has
/// ended since it was checked.
template <PluginName kPlugin>
void EndConnection(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  exec::ConnectionBook::Shared().End(kPlugin.text, *static_cast<const unsigned long long*>(save));
  *static_cast<unsigned long long*>(target) = 0;
}

}  // namespace rowsocket::plugin
