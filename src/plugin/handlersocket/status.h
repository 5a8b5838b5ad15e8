// SHOW GLOBAL STATUS LIKE 'Handlersocket%'.
//
// Threads: any session's. Lifetime: the runtime is set while it runs.
#pragma once

#include "api.h"

namespace rowsocket::plugin {

class Runtime;

/// Where the counters are read from; null when nothing runs.
void SetStatusSource(const Runtime* runtime);

/// For the plugin's declaration.
extern st_mysql_show_var kStatusVariables[];

}  // namespace rowsocket::plugin
