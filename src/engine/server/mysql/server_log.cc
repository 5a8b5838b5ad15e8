#include "engine/server/server_log.h"

#include "plugin_handle.h"

namespace rowsocket::engine::server {

void WriteToLog(LogLevel level, const char* line) {
  switch (level) {
    case LogLevel::kNote:
      return WriteInNameOfPlugin(MY_INFORMATION_LEVEL, line);
    case LogLevel::kWarning:
      return WriteInNameOfPlugin(MY_WARNING_LEVEL, line);
    case LogLevel::kError:
      return WriteInNameOfPlugin(MY_ERROR_LEVEL, line);
  }
}

}  // namespace rowsocket::engine::server
