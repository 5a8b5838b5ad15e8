// RENAME, RENAMENX and COPY of strings: one unit that reads the source under its lock, writes the
// target, and for RENAME removes the source.
//
// One thread executes the calls of one command one after the other, and keeps the value in between.
// Threads: any. Errors: RespWork::wrong.
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
/// Executes one call of RENAME or COPY, in a unit; the last one appends the reply. The caller that
/// executes the unit calls ForgetMoved at its end.
engine::Outcome ExecuteMove(RespWork& work, const RespCall& call, engine::Session& session,
                            base::Buffer& out);
/// Frees the memory of a large string that this thread has moved, or was about to move.
void ForgetMoved();

}  // namespace rowsocket::frontend
