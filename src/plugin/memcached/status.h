// SHOW GLOBAL STATUS LIKE 'Daemon_memcached%'.
//
// Threads: any session's. Lifetime: the runtime is set while it runs.
#pragma once

namespace rowsocket::plugin {

class MemcachedRuntime;

/// Where the counters are read from; null when nothing runs.
void SetMemcachedStatusSource(const MemcachedRuntime* runtime);

}  // namespace rowsocket::plugin
