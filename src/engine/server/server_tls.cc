#include "engine/server/server_tls.h"

#include "api.h"

namespace rowsocket::engine::server {

std::string TextOfVariable(const char* name) {
  return LookAtVariable(current_thd, name, OPT_GLOBAL, [](const uchar* place) {
    if (place == nullptr) return std::string();
    mysql_mutex_lock(&LOCK_global_system_variables);
    const char* const text = *reinterpret_cast<const char* const*>(place);
    std::string copy = text != nullptr ? text : "";
    mysql_mutex_unlock(&LOCK_global_system_variables);
    return copy;
  });
}

}  // namespace rowsocket::engine::server
