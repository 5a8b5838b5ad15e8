// COMMAND: what a RESP port serves, for clients and tools.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string_view>

#include "base/buffer.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// Appends the reply to COMMAND. `arguments`: with the command's name.
void DescribeCommands(std::span<const std::string_view> arguments, resp::Version version,
                      base::Buffer& out);

}  // namespace rowsocket::frontend
