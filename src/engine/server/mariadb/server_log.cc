#include "engine/server/server_log.h"

#include "api.h"

namespace rowsocket::engine::server {

void WriteToLog(LogLevel level, const char* line) {
  switch (level) {
    case LogLevel::kNote:
      return sql_print_information("%s", line);
    case LogLevel::kWarning:
      return sql_print_warning("%s", line);
    case LogLevel::kError:
      return sql_print_error("%s", line);
  }
}

}  // namespace rowsocket::engine::server
