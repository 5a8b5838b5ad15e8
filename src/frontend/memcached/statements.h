// Requests that are several statements: a gat of several keys, flush_all.
#pragma once

#include "engine/session.h"

namespace rowsocket::frontend {

/// Adds what a statement has done to what those before it have.
inline void AddDone(const engine::Outcome& outcome, engine::Outcome* done) {
  done->rows += outcome.rows;
  done->permanent = done->permanent || outcome.permanent;
}

/// How the request fails behind `done`. What has been changed can only be taken back with the whole
/// transaction, whose other requests then run again.
inline engine::Outcome FailBehind(const engine::Outcome& done, engine::Outcome failed) {
  if (done.permanent)
    failed.permanent = true;
  else if (done.rows != 0)
    failed.transaction_lost = true;
  return failed;
}

}  // namespace rowsocket::frontend
