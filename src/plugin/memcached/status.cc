#include "plugin/memcached/status.h"

#include <mutex>

#include "plugin/memcached/plugin.h"
#include "plugin/memcached/runtime.h"
#include "plugin/status.h"

namespace rowsocket::plugin {

namespace {

std::mutex source_mutex;
const MemcachedRuntime* source = nullptr;

thread_local ShownCounters shown;

int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  std::lock_guard lock(source_mutex);
  shown.Clear("daemon_memcached");
  shown.AddExec(source != nullptr ? &source->stats() : nullptr);
  shown.AddOwn(frontend::kMemcachedStatInfo, frontend::kMemcachedAverages,
               source != nullptr ? &source->shared().counters : nullptr);
  shown.ShowIn(var);
  return 0;
}

}  // namespace

void SetMemcachedStatusSource(const MemcachedRuntime* runtime) {
  std::lock_guard lock(source_mutex);
  source = runtime;
}

st_mysql_show_var kMemcachedStatusVariables[] = {
    {"Daemon_memcached", reinterpret_cast<void*>(&Show), SHOW_FUNC},
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace rowsocket::plugin
