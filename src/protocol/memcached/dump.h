// A command as one line of text, for tests and fuzzing.
//
//   <dialect> <verb> "<key>"... <its other members, in the order of struct Command>... [!<error>]
//
// Members with the values of a new Command are left out; texts are in quotes, with \xHH for bytes
// outside printable ASCII and for quote and backslash.
#pragma once

#include <string>
#include <string_view>

#include "model/limits.h"
#include "protocol/memcached/parser.h"

namespace rowsocket::memcached {

std::string Dump(const Command& command);

/// The first broken promise of command.h that `command`, parsed from `input`, shows; empty if none.
std::string CheckCommand(std::string_view input, const model::Limits& limits,
                         const Command& command);

}  // namespace rowsocket::memcached
