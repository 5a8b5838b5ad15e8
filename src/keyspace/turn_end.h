// How the housekeeper and the purge end a turn, whatever it has done.
//
// Threads: the session's.
#pragma once

#include "engine/session.h"

namespace rowsocket::keyspace {

/// Commits the turn, or rolls it back if its work has failed. False: none of its changes lasts.
/// REQUIRES: a turn is open.
inline bool CommitOrRollBack(engine::Session& session, const engine::Outcome& outcome) {
  if (outcome.ok()) return session.Commit().ok();
  session.Rollback();
  return false;
}

}  // namespace rowsocket::keyspace
