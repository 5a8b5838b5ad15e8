// flush_all: every row of one container is deleted, now or when its delay is over.
//
// Threads: the session's. Limits: those of keyspace/delete_rows.h.
#pragma once

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"

namespace rowsocket::frontend {

/// Flushes at once, or notes when (keyspace::Housekeeper does it then). A later flush_all replaces
/// a flush that is still to come.
engine::Outcome ExecuteFlush(MemcachedShared& shared, const Work& work,
                             const model::Account* account, engine::Session& session,
                             base::Buffer& out);

}  // namespace rowsocket::frontend
