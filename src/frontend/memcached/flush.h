// flush_all: every row of one container is deleted, now or when its delay is over.
//
// Threads: the session's.
// Limits: those of keyspace/delete_rows.h.
#pragma once

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"

namespace rowsocket::frontend {

/// Flushes at once, or notes in MemcachedWork::flush_at_ms when the flush is due.
engine::Outcome ExecuteFlush(MemcachedShared& shared, MemcachedWork& work,
                             const model::Account* account, engine::Session& session,
                             base::Buffer& out);

/// Call when a flush is committed: it replaces a flush of the container that was still to come. A
/// flush with a delay is handed to keyspace::Housekeeper.
void FlushFinished(MemcachedShared& shared, const MemcachedWork& work);

}  // namespace rowsocket::frontend
