// The variable with which an operator ends one client's connection: SET GLOBAL
// handlersocket_kill_connection = ID, as information_schema.ROWSOCKET_CONNECTIONS shows it.
//
// Threads: the server calls under its own locks; ending a connection waits for nobody.
// Errors: a number that no connection of the plugin has is refused. The variable stays 0.
#pragma once

#include "declare.h"
#include "exec/connection_book.h"
#include "plugin/host.h"

namespace rowsocket::plugin {

template <const char* const& kPlugin>
int CheckConnection(MYSQL_THD, SystemVariable*, void* save, st_mysql_value* value) {
  long long id = 0;
  const bool is_null = value->val_int(value, &id) != 0;
  const auto number = static_cast<unsigned long long>(id);
  *static_cast<unsigned long long*>(save) = number;
  if (!is_null && (number == 0 || exec::ConnectionBook::Shared().Has(kPlugin, number))) return 0;
  ReportNoConnection(kPlugin, number);
  return 1;
}

/// 0, the default, ends nothing. A connection that has ended since it was checked has ended.
template <const char* const& kPlugin>
void EndConnection(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  exec::ConnectionBook::Shared().End(kPlugin, *static_cast<const unsigned long long*>(save));
  *static_cast<unsigned long long*>(target) = 0;
}

}  // namespace rowsocket::plugin
