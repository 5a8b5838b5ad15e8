// Deletes all rows of a container.
//
// Threads: the session's.
// Limits: kFlushChunkRows rows are found before they are deleted; all of them in the turn's one
// transaction.
#pragma once

#include "engine/session.h"
#include "keyspace/container.h"

namespace rowsocket::keyspace {

/// A request that stands for the deletion of all rows: the frontend gives it to the turn, and
/// Session::MayExecute judges it.
model::Request DeleteRowsRequest();

/// Deletes all rows of the container. REQUIRES: a turn that writes is open.
engine::Outcome DeleteAllRows(const Container& container, engine::Session& session);

}  // namespace rowsocket::keyspace
