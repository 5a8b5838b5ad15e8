// Requests that are several statements, such as one that changes the rows of several keys.
#pragma once

#include "engine/session.h"

namespace rowsocket::engine {

/// Adds the effects of a statement to those of the statements before it.
inline void AddDone(const Outcome& outcome, Outcome* done) {
  done->rows += outcome.rows;
  done->permanent = done->permanent || outcome.permanent;
}

/// The outcome of a request that fails after some of its statements have succeeded. Their changes
/// can only be taken back with the whole transaction, whose other requests then run again.
inline Outcome FailAfter(const Outcome& done, Outcome failed) {
  if (done.permanent)
    failed.permanent = true;
  else if (done.rows != 0)
    failed.transaction_lost = true;
  return failed;
}

}  // namespace rowsocket::engine
