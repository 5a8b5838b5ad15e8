// flush_all: every row of one container is deleted, now or when its delay is over.
//
// Threads: the session's. Limits: kFlushChunkRows rows are found before they are deleted; all of
// them in the turn's one transaction.
#pragma once

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"

namespace rowsocket::frontend {

/// The request that tells the executor that a flush writes.
model::Request FlushRequest();

/// Flushes at once, or notes when (MemcachedHousekeeper does it then). A later flush_all replaces a
/// flush that is still to come.
engine::Outcome ExecuteFlush(MemcachedShared& shared, const Work& work,
                             const model::Account* account, engine::Session& session,
                             base::Buffer& out);

/// REQUIRES: a turn that writes is open.
engine::Outcome DeleteAllRows(const containers::Container& container, engine::Session& session);

}  // namespace rowsocket::frontend
