// The answers to HELP, and to a subcommand that is not served.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "frontend/resp/command.h"

namespace rowsocket::frontend {

/// Whether the client asks for the help of a command some of whose subcommands are served.
bool AsksForHelp(RespArguments arguments);

/// Answers a command whose second argument is HELP, or the name of no subcommand that is served.
/// Appends a list of lines as Redis does, or an error. REQUIRES: at least two arguments.
void AppendHelp(RespArguments arguments, base::Buffer* out);

}  // namespace rowsocket::frontend
