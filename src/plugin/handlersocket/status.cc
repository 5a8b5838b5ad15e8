#include "plugin/handlersocket/status.h"

#include <mutex>

#include "plugin/handlersocket/runtime.h"
#include "plugin/status.h"

namespace rowsocket::plugin {

namespace {

std::mutex source_mutex;
const Runtime* source = nullptr;

thread_local ShownCounters shown;

int Show(MYSQL_THD, st_mysql_show_var* var, void*, system_status_var*, enum_var_type) {
  std::lock_guard lock(source_mutex);
  shown.Clear("handlersocket");
  shown.AddExec(source != nullptr ? &source->stats() : nullptr);
  shown.ShowIn(var);
  return 0;
}

}  // namespace

void SetStatusSource(const Runtime* runtime) {
  std::lock_guard lock(source_mutex);
  source = runtime;
}

st_mysql_show_var kStatusVariables[] = {
    {"Handlersocket", reinterpret_cast<void*>(&Show), SHOW_FUNC},
    {nullptr, nullptr, SHOW_UNDEF},
};

}  // namespace rowsocket::plugin
