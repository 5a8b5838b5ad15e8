#include "engine/server/server_log.h"

#include <cstdarg>
#include <cstdio>
#include <new>
#include <string>

namespace rowsocket::engine::server {

namespace {

constexpr const char* kPrefix = "rowsocket: ";

void Write(LogLevel level, const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int size = vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (size < 0) return;
  try {
    std::string text(static_cast<size_t>(size) + 1, '\0');
    vsnprintf(text.data(), text.size(), format, arguments);
    WriteToLog(level, (kPrefix + text).c_str());
  } catch (const std::bad_alloc&) {
    // Without memory for the line, the line is lost.
  }
}

}  // namespace

void LogNote(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Write(LogLevel::kNote, format, arguments);
  va_end(arguments);
}

void LogWarning(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Write(LogLevel::kWarning, format, arguments);
  va_end(arguments);
}

void LogError(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Write(LogLevel::kError, format, arguments);
  va_end(arguments);
}

}  // namespace rowsocket::engine::server
