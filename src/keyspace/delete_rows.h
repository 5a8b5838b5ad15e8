// Deletes all rows of a container, and ends the turn of those who delete rows.
//
// Threads: the session's. Limits: kFlushChunkRows rows are found before they are deleted; all of
// them in the turn's one transaction.
#pragma once

#include "engine/session.h"
#include "keyspace/container.h"

namespace rowsocket::keyspace {

/// The request that says that all rows are deleted: to the executor, and to whoever judges rights.
model::Request DeleteRowsRequest();

/// Ends the turn by what its work has come to; false: nothing of it lasts.
/// REQUIRES: a turn is open.
bool EndTurn(engine::Session& session, const engine::Outcome& outcome);

/// REQUIRES: a turn that writes is open.
engine::Outcome DeleteAllRows(const Container& container, engine::Session& session);

}  // namespace rowsocket::keyspace
