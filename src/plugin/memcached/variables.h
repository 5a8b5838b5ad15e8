// The plugin `daemon_memcached`: its descriptor, and its system variables. docs/MEMCACHED.md marks
// the variables that MySQL's plugin of that name does not have.
#pragma once

#include "plugin/protocol.h"

namespace rowsocket::plugin {

extern const Descriptor kMemcached;

}  // namespace rowsocket::plugin
