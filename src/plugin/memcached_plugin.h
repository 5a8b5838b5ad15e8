// What the declaration of the daemon plugin `daemon_memcached` consists of.
#pragma once

#include "engine/mariadb/server.h"

namespace rowsocket::plugin {

int InitMemcached(void*);
int DeinitMemcached(void*);
extern st_mysql_sys_var* memcached_variables[];
extern st_mysql_show_var kMemcachedStatusVariables[];

/// Refuses, with both names, a server of another version than this library was built for.
bool FitsTheServer();

/// One for each core, so that a turn has the requests of many connections; two on a single core, so
/// that one that waits for the disk does not keep all others out.
unsigned ReadersForThisMachine();

}  // namespace rowsocket::plugin
