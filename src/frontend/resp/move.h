// RENAME, RENAMENX and COPY of strings: one unit that reads the source under its lock, writes the
// target, and for RENAME removes the source.
//
// The unit's execution owns the value between the two calls (RespWork::moved). RENAME of a key to
// itself is one call, which only asks whether the key exists.
// Threads: any, one at a time.
// Errors: RespWork::wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

inline constexpr std::string_view kRespMovesStrings =
    "NOTSERVED RENAME and COPY are for strings: the key of a row is in its table's columns";

/// Whether the two calls name the same row. With an error: nobody can tell, because two containers
/// are in one table.
bool IsSameRow(const RespCall& a, const RespCall& b, std::string* error);
/// Executes one call of RENAME or COPY; the last one appends the reply.
engine::Outcome ExecuteMove(RespWork& work, const RespCall& call, engine::Session& session,
                            base::Buffer& out);

}  // namespace rowsocket::frontend
