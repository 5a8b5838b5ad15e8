// The plugin `daemon_memcached`: its descriptor, and its system variables. docs/MEMCACHED.md marks
// the variables that MySQL's plugin of that name does not have.
#pragma once

#include <atomic>
#include <cstdint>

#include "plugin/protocol.h"

namespace rowsocket::plugin {

extern const Descriptor kMemcached;

/// The value of daemon_memcached_housekeeping_on_replica, which may be set at any time.
bool IsHousekeeperOnReplica();
/// daemon_memcached_clock_offset in milliseconds, which the clock of expiry adds, for tests.
const std::atomic<int64_t>* MemcachedClockOffsetMs();

}  // namespace rowsocket::plugin
