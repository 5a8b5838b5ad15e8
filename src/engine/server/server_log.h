// Messages to the error log of the server. What all servers do alike is in server_log.cc; one
// server_log.cc for each family writes the lines.
// Threads: any.
// Lifetime: nothing is kept of a message.
// Errors: without memory for a message, the message is lost, because sessions write some where
// nothing may throw (Session::Rollback).
#pragma once

#include <cstdint>

namespace rowsocket::engine::server {

enum class LogLevel : uint8_t { kNote, kWarning, kError };

/// LogNote, LogWarning and LogError write a message, formatted as by printf, after the library's
/// name. They do not throw.
void LogNote(const char* format, ...) __attribute__((format(printf, 1, 2)));
void LogWarning(const char* format, ...) __attribute__((format(printf, 1, 2)));
void LogError(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Writes one line, by a function of the server's family.
void WriteToLog(LogLevel level, const char* line);

}  // namespace rowsocket::engine::server
