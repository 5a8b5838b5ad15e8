// What a command of RESP that is parsed becomes: an item that is answered at once, or a request.
//
// Flow: the parser has made the item a kReply with a RespWork; one of these functions sets its
// reply, or makes it a kRequest.
// Threads: the thread that parses.
// Lifetime: what the item gets lies in the arena, or belongs to its calls.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/arena.h"
#include "exec/frontend.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Makes the item answer a copy of the reply.
void AnswerItem(std::string_view reply, base::Arena& arena, exec::Item* item);
/// Makes the item answer an error.
void AnswerItemError(std::string_view text, base::Arena& arena, exec::Item* item);
/// Makes the item answer an error to a command that is refused before anything of it is tried; INFO
/// counts such errors separately (RespFailures).
void RejectItem(std::string_view text, base::Arena& arena, exec::Item* item);
/// Makes the item the request of its prepared calls; several calls, and those of EXEC, become a
/// unit. If no call asks the engine, the item answers at once. `calls`: they lie in the arena;
/// `commands`: how many commands they belong to.
void MakeRequestItem(std::span<RespCall> calls, bool is_exec, size_t commands, base::Arena& arena,
                     exec::Item* item);

}  // namespace rowsocket::frontend
