// Checks of what must hold for every command, whatever its line was. For tests and fuzzing.
#pragma once

#include <string>
#include <string_view>

#include "model/limits.h"
#include "protocol/handlersocket/parser.h"

namespace rowsocket::handlersocket {

/// The first broken promise of parser.h that `command`, parsed from `line`, shows; empty if none.
std::string CheckCommand(std::string_view line, const model::Limits& limits,
                         const Command& command);

/// A line that makes the same command again. REQUIRES: command.errors.empty(), and no more key
/// parts given than the command holds.
std::string ToLine(const Command& command);

}  // namespace rowsocket::handlersocket
