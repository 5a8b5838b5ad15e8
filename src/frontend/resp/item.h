// What a command of RESP that is parsed becomes: an item that is answered at once, or a request.
//
// Flow: the item is a kReply with a RespWork by then; one of these functions says what it answers,
// or makes it a kRequest.
// Threads: the thread that parses. Lifetime: what the item gets lies in the arena, or is of its
// calls.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "exec/frontend.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// The item answers the reply, which is copied.
void AnswerItem(std::string_view reply, base::Arena& arena, exec::Item* item);
/// The item answers an error.
void AnswerItemError(std::string_view text, base::Arena& arena, exec::Item* item);
/// The item answers an error to a command that is refused before anything of it is tried: INFO
/// counts such errors apart (RespFailures).
void RejectItem(std::string_view text, base::Arena& arena, exec::Item* item);
/// The item is the request of its calls, which are prepared; several of them, and those of EXEC,
/// are a unit. Where no call asks the engine, the item answers at once. `calls`: of the arena;
/// `commands`: how many commands they are of.
void MakeRequestItem(std::span<RespCall> calls, bool is_exec, size_t commands, base::Arena& arena,
                     exec::Item* item);

}  // namespace rowsocket::frontend
