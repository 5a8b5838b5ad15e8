// RENAME, RENAMENX and COPY of strings: one unit of a read of the source, under its lock, a write
// of the target, and for RENAME the removal of the source.
//
// The calls of one command are executed by one thread one after the other, which keeps the value in
// between. Threads: any. Errors: RespWork::wrong.
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

/// Whether the two calls name the same row. False, with an error: it cannot be told, because two
/// containers are of one table.
bool IsSameRow(const RespCall& a, const RespCall& b, std::string* error);
/// Executes one call of RENAME or COPY, in a unit; the last one appends the reply. Whoever executes
/// the unit calls ForgetMoved at its end.
engine::Outcome ExecuteMove(RespWork& work, const RespCall& call, engine::Session& session,
                            base::Buffer& out);
/// Gives back the memory of a large string that this thread has moved, or was to move.
void ForgetMoved();

}  // namespace rowsocket::frontend
