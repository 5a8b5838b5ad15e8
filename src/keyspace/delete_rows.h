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

/// Whether the account of the request, which deletes all rows of the index's table by their keys,
/// may do so. An account that may DELETE may flush: the library reads the keys of the rows by
/// itself, with all rights, so the account needs no SELECT.
engine::Outcome MayDeleteRows(engine::Session& session, engine::Index& index,
                              model::Request request);

/// Deletes all rows of the container. REQUIRES: a turn that writes is open.
engine::Outcome DeleteAllRows(const Container& container, engine::Session& session);

}  // namespace rowsocket::keyspace
