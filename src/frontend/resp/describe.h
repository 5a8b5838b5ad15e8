// COMMAND: the commands that a RESP port serves, for clients and tools.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "frontend/resp/command.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// Appends the reply to COMMAND.
void DescribeCommands(RespArguments arguments, resp::Version version, base::Buffer& out);

}  // namespace rowsocket::frontend
