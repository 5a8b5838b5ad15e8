// The server's handles for the plugins of this library, which writing to the server's error log
// requires.
//
// Threads: any.
// Lifetime: a handle is valid from the start of its plugin to its end.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

void NotePlugin(MYSQL_PLUGIN handle);
void ForgetPlugin(MYSQL_PLUGIN handle);

/// Writes a message in the name of a plugin that runs. If none runs, the message goes to
/// standard error, which is the error log of a server that has one.
void WriteInNameOfPlugin(plugin_log_level level, const char* line);

}  // namespace rowsocket::engine::server
