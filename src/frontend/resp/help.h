// The answers to HELP, and to a subcommand that is not served.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "base/buffer.h"

namespace rowsocket::frontend {

/// Whether the command has subcommands that are served, and is asked for help with them.
bool AsksForHelp(std::span<const std::string_view> arguments);

/// Behind the subcommands of a command that are served. `arguments`: with the command's name, and
/// at least one more, which is HELP, or the name of no subcommand. Appends a list of lines as a
/// Redis does, or an error.
void AppendHelp(std::span<const std::string_view> arguments, base::Buffer* out);

}  // namespace rowsocket::frontend
