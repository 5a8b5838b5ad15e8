// The answers to HELP, and to a subcommand that is not served.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "frontend/resp/command.h"

namespace rowsocket::frontend {

/// Whether the command has subcommands that are served, and is asked for help with them.
bool AsksForHelp(RespArguments arguments);

/// Behind the subcommands of a command that are served. `arguments`: at least two, of which the
/// second is HELP, or the name of no subcommand. Appends a list of lines as a Redis does, or an
/// error.
void AppendHelp(RespArguments arguments, base::Buffer* out);

}  // namespace rowsocket::frontend
