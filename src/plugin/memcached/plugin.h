// What the declaration of the daemon plugin `daemon_memcached` consists of.
#pragma once

#include "api.h"

namespace rowsocket::plugin {

int InitMemcached(void*);
int DeinitMemcached(void*);
extern st_mysql_sys_var* memcached_variables[];
extern st_mysql_show_var kMemcachedStatusVariables[];

}  // namespace rowsocket::plugin
