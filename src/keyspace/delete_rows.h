// Deletes all rows of a container.
//
// Threads: the session's. Limits: kFlushChunkRows rows are found before they are deleted; all of
// them in the turn's one transaction.
#pragma once

#include "engine/session.h"
#include "keyspace/container.h"

namespace rowsocket::keyspace {

/// The request that says that all rows are deleted: to the executor, and to whoever judges rights.
model::Request DeleteRowsRequest();

/// REQUIRES: a turn that writes is open.
engine::Outcome DeleteAllRows(const Container& container, engine::Session& session);

}  // namespace rowsocket::keyspace
