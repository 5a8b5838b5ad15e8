// Every verb that may change a row: decided about on the locked row, so that what it depends on
// (is there a row, has it expired, what is its token, its number) cannot change meanwhile.
//
// Flow: ExecuteEdit executes one edit a key, then writes the reply of what was decided.
// Threads: the session's. Errors: an outcome that is not ok leaves a part of the reply in `out`,
// which the caller takes back.
#pragma once

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"

namespace rowsocket::frontend {

/// Whether the command is executed as an edit.
bool IsEdit(const memcached::Command& command);

/// The request of an edit, by which the executor knows that it writes, and which row. Its editor
/// keeps every row; ExecuteEdit puts in the one that decides. Of several keys (gat) it names none.
model::Request EditRequest(const Work& work);

/// `request`: that of EditRequest.
engine::Outcome ExecuteEdit(MemcachedShared& shared, Work& work, model::Request request,
                            engine::Session& session, base::Buffer& out);

}  // namespace rowsocket::frontend
