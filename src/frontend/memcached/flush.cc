#include "frontend/memcached/flush.h"

#include "frontend/memcached/exptime.h"
#include "keyspace/delete_rows.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

using engine::Outcome;

Outcome ExecuteFlush(MemcachedShared& shared, MemcachedWork& work, const model::Account* account,
                     engine::Session& session, base::Buffer& out) {
  const keyspace::Container& container = *work.target().container;
  model::Request judged = keyspace::DeleteRowsRequest();
  judged.account = account;
  const Outcome verdict = keyspace::MayDeleteRows(session, *container.key_index, judged);
  if (!verdict.ok()) return verdict;
  const int64_t now_ms = shared.keyspaces->NowMs();
  const int64_t at_ms = work.command.exptime > 0 ? ExpiryOf(work.command.exptime, now_ms) : now_ms;
  Outcome outcome;
  if (at_ms <= now_ms) outcome = keyspace::DeleteAllRows(container, session);
  if (!outcome.ok()) return outcome;
  work.flush_at_ms = at_ms > now_ms ? at_ms : 0;
  memcached::AppendOk(work.command, &out);
  return outcome;
}

void FlushFinished(MemcachedShared& shared, const MemcachedWork& work) {
  const int64_t at_ms = work.flush_at_ms;
  work.target().container->state->flush_at_ms.store(at_ms, std::memory_order_relaxed);
  if (at_ms != 0) shared.keyspaces->FlushIsDueAt(at_ms);
}

}  // namespace rowsocket::frontend
