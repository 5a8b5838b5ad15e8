#include "engine/server/worker_thd.h"

#include "engine/server/engine_error.h"

namespace rowsocket::engine::server {

void WorkerThd::WaitForTables(bool waits) {
  thd_->variables.lock_wait_timeout = waits ? timeouts_.table_lock_s : 0;
}

void WorkerThd::RestoreLockWait() { thd_->variables.lock_wait_timeout = timeouts_.table_lock_s; }

// The server computes NOW() and similar functions once for each query id.
void WorkerThd::SetTime() {
  thd_->set_time();
  thd_->set_query_id(next_query_id());
}

model::Error WorkerThd::TakeError() {
  const unsigned number = ErrorNumberOf(*thd_);
  return number == 0 ? model::Error() : EngineError(static_cast<int>(number));
}

bool WorkerThd::killed() const { return IsKilled(*thd_); }

}  // namespace rowsocket::engine::server
