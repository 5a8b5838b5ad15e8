#include "plugin_handle.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

namespace rowsocket::engine::server {

namespace {

std::mutex handle_mutex;
std::vector<MYSQL_PLUGIN>& Handles() {
  static std::vector<MYSQL_PLUGIN> handles;
  return handles;
}

}  // namespace

void NotePlugin(MYSQL_PLUGIN handle) {
  const std::lock_guard lock(handle_mutex);
  Handles().push_back(handle);
}

void ForgetPlugin(MYSQL_PLUGIN handle) {
  const std::lock_guard lock(handle_mutex);
  std::vector<MYSQL_PLUGIN>& handles = Handles();
  handles.erase(std::remove(handles.begin(), handles.end(), handle), handles.end());
}

void WriteInNameOfPlugin(plugin_log_level level, const char* line) {
  const std::lock_guard lock(handle_mutex);
  if (Handles().empty()) {
    std::fprintf(stderr, "%s\n", line);
    return;
  }
  my_plugin_log_message(&Handles().back(), level, "%s", line);
}

}  // namespace rowsocket::engine::server
