// What a script that is served (scripts.h) does with a string: its arguments, its change, its
// reply. The change is RespStringChange's, like those of other commands.
//
// Threads: any; the functions keep nothing.
#pragma once

#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"
#include "frontend/resp/string_change.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Reads the arguments of a script on a string. Returns an empty text, or an error.
std::string_view PrepareStringScript(const RespCall& call, base::Arena& arena);
/// Appends the reply to a script on a string.
void AppendOfScript(resp::Version version, const RespCall& call, const RespStringChange& change,
                    base::Buffer& out);

}  // namespace rowsocket::frontend
