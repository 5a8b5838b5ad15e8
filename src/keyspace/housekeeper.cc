#include "keyspace/housekeeper.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "exec/describe.h"
#include "keyspace/delete_rows.h"
#include "keyspace/time.h"
#include "keyspace/turn_end.h"
#include "model/limits.h"

namespace rowsocket::keyspace {

using engine::Outcome;

namespace {

/// A user who may write to innodb_memcache.containers can name any table there, so the account of
/// the port needs the right to delete from the table. Until the account's role is known, the
/// account could wrongly seem to lack the right.
Outcome MayEmpty(engine::Session& session, const Container& container,
                 const HousekeeperSettings& settings) {
  if (settings.account != nullptr && !settings.account->knows_role())
    return Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
  model::Request judged = DeleteRowsRequest();
  judged.account = settings.account.get();
  return MayDeleteRows(session, *container.key_index, judged);
}

}  // namespace

bool Housekeeper::Start() {
  const auto main = [this](engine::Session* session) {
    if (session != nullptr) Loop(*session);
    AwaitFlush();
  };
  const auto again = [this, has_told = false]() mutable {
    if (!std::exchange(has_told, true)) TellThatItHasNoSession();
    return PauseWithoutSession();
  };
  return thread_.Start(sessions_, engine::LockWait::kNever, main, again);
}

void Housekeeper::TellThatItHasNoSession() {
  try {
    keyspaces_.log(
        "the housekeeper has no session, for want of memory: until it gets one, expired rows stay, "
        "and delayed flushes wait");
  } catch (const std::bad_alloc&) {  // The log lacks a line.
  }
}

bool Housekeeper::PauseWithoutSession() {
  base::MutexLock lock(mutex_);
  if (!stopping_) wake_.WaitFor(lock, std::chrono::milliseconds(model::kPurgeIdleMs));
  return !stopping_;
}

void Housekeeper::Stop() {
  if (!thread_.joinable()) return AwaitFlush();
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  exec::SessionThread* const threads[] = {&thread_, &flush_.thread};
  exec::SessionThread::AwaitEnd(threads, exec::SessionThread::Clock::now());
  thread_.Join();
}

void Housekeeper::Follow(HousekeeperRules rules) {
  auto followed = std::make_shared<const HousekeeperRules>(std::move(rules));
  const base::MutexLock lock(mutex_);
  rules_.swap(followed);
}

std::shared_ptr<const HousekeeperRules> Housekeeper::Rules() {
  const base::MutexLock lock(mutex_);
  return rules_;
}

void Housekeeper::Loop(engine::Session& session) {
  exec::DescribeSession(session, [] { return "mode=housekeeping"; });
  // No client waits for this thread, so it may take the time to repair tables. Workers, which read
  // the mapping tables, too, repair none, and the wait lane repairs only a table on which a request
  // is executed: without the housekeeper the mapping tables would stay as a crash has left them.
  session.AllowRepairs();
  base::MutexLock lock(mutex_);
  while (!stopping_ && !session.ShouldStop()) {
    lock.Unlock();
    const bool has_more = RunOnce(session);
    session.ReleaseTables();
    lock.Lock();
    const int64_t pause_ms = PauseMs(keyspaces_.next_flush_ms(), keyspaces_.NowMs(), has_more);
    if (!stopping_) wake_.WaitFor(lock, std::chrono::milliseconds(pause_ms));
  }
}

// The difference of kNever and a time before 1970 does not fit into 64 bits.
int64_t Housekeeper::PauseMs(int64_t next_flush_ms, int64_t now_ms, bool has_more) {
  const int64_t longest_ms = has_more ? model::kPurgeTickMs : model::kPurgeIdleMs;
  if (next_flush_ms >= now_ms + longest_ms) return longest_ms;
  return std::max<int64_t>(next_flush_ms - now_ms, 1);
}

// If memory runs out, the round is over, and the next one begins anew.
bool Housekeeper::RunOnce(engine::Session& session) {
  try {
    return Round(session);
  } catch (const std::bad_alloc&) {
    session.Rollback();
    return true;
  }
}

bool Housekeeper::Round(engine::Session& session) {
  keyspaces_.catalog.Refresh(session);
  const auto snapshot = keyspaces_.catalog.current();
  const auto rules = Rules();
  keyspaces_.ForgetFlushes();
  bool has_more = false;
  std::erase_if(upkeep_, [&](const auto& each) { return !snapshot->HasTitle(each.first); });
  EndFlushIfItIsOver();
  const engine::NoHousekeeping no_housekeeping = keyspaces_.WhyNoHousekeeping();
  for (const auto& container : snapshot->containers) {
    if (stopping_) break;
    if (!container->usable()) {
      if (!container->is_locked) DropDueFlush(*container, "the container is disabled");
      continue;
    }
    if (!no_housekeeping.why.empty()) {
      PutOffOrDropDueFlush(*container, no_housekeeping);
      continue;
    }
    FlushDue(container);
    if (container->expiry != ExpiryKind::kNone) {
      has_more = PurgeRowsOfOneTick(session, *container, rules->containers) || has_more;
    }
  }
  for (const auto& rows : snapshot->expiring_rows) {
    if (stopping_ || !no_housekeeping.why.empty()) break;
    if (rows->usable()) has_more = PurgeRowsOfOneTick(session, *rows, rules->resp) || has_more;
  }
  return has_more;
}

void Housekeeper::FlushDue(const ContainerPtr& container) {
  const int64_t at_ms = container->state->flush_at_ms.load();
  if (at_ms == 0) return;
  const int64_t now_ms = keyspaces_.NowMs();
  const int64_t due_ms = std::max(at_ms, UpkeepOf(*container).flush_again_ms);
  if (now_ms < due_ms) return keyspaces_.FlushIsDueAt(due_ms);
  // Another flush is under way: a later round begins this one.
  if (flush_.thread.joinable()) return;
  flush_.container = container;
  flush_.at_ms = at_ms;
  flush_.flushed = false;
  flush_.error = {};
  const auto flush = [this, container](engine::Session* session) {
    if (session != nullptr && !stopping_) Flush(*session, *container);
  };
  if (!flush_.thread.Start(sessions_, engine::LockWait::kServer, flush))
    UpkeepOf(*container).flush_again_ms = now_ms + model::kFlushRetryMs;
}

// Drops a due flush if the server has become a replica since the flush was asked for, the container
// is disabled, or its rows cannot be deleted. If the flush were kept for a later failover, or until
// the container works again, it would delete what was written meanwhile.
void Housekeeper::DropDueFlush(const Container& container, std::string_view why) {
  int64_t at_ms = container.state->flush_at_ms.load();
  if (at_ms == 0) return;
  if (keyspaces_.NowMs() < at_ms) return keyspaces_.FlushIsDueAt(at_ms);
  if (!container.state->flush_at_ms.compare_exchange_strong(at_ms, 0)) return;
  keyspaces_.log("the delayed flush_all of container " + container.name() +
                 " is dropped: " + std::string(why));
}

// What the cluster holds up for a while is put off for as long as what a lock holds up.
void Housekeeper::PutOffOrDropDueFlush(const Container& container,
                                       const engine::NoHousekeeping& reason) {
  const int64_t at_ms = container.state->flush_at_ms.load();
  const int64_t now_ms = keyspaces_.NowMs();
  const bool is_due = at_ms != 0 && now_ms >= at_ms;
  if (is_due && reason.may_pass && now_ms - at_ms < model::kFlushOverdueMsMax)
    return keyspaces_.FlushIsDueAt(now_ms + model::kFlushRetryMs);
  DropDueFlush(container, reason.why);
}

// A flush waits for a locked row as long as any request does, while the purge goes on. If memory
// runs out, the flush counts as failed for a reason that may pass, which FlushDue has noted
// beforehand.
void Housekeeper::Flush(engine::Session& session, const Container& container) {
  exec::DescribeSession(session, [] { return "mode=housekeeping, flush_all"; });
  try {
    session.BeginTurn(true);
    Outcome outcome = MayEmpty(session, container, Rules()->containers);
    if (outcome.ok()) outcome = DeleteAllRows(container, session);
    flush_.error = outcome.error;
    flush_.flushed = CommitOrRollBack(session, outcome);
  } catch (const std::bad_alloc&) {
    session.Rollback();
  }
}

void Housekeeper::EndFlushIfItIsOver() {
  if (flush_.thread.HasEnded()) AwaitFlush();
}

void Housekeeper::AwaitFlush() {
  if (!flush_.thread.joinable()) return;
  flush_.thread.Join();
  try {
    NoteFlush();
  } catch (const std::bad_alloc&) {
    // The flush is dropped without a line in the log, or stays due.
  }
  flush_.container.reset();
}

// Clears the due time of a flush that has succeeded, unless a later flush has replaced it. A flush
// that has failed because of a lock or a node that is not ready, was interrupted, or has met a
// table that was altered since the catalog looked at it, is tried again for a while.
void Housekeeper::NoteFlush() {
  using model::ErrorCode;
  const int64_t now_ms = keyspaces_.NowMs();
  const ErrorCode code = flush_.error.code;
  const bool is_altered =
      code == ErrorCode::kOpenTable || code == ErrorCode::kIdxnum || code == ErrorCode::kFld;
  const bool may_pass = flush_.error.ok() || model::EndsWait(flush_.error) ||
                        code == ErrorCode::kDeadlock || code == ErrorCode::kNotReady || is_altered;
  if (is_altered) keyspaces_.catalog.MarkStale();
  if (flush_.flushed) {
    flush_.container->state->flush_at_ms.compare_exchange_strong(flush_.at_ms, 0);
  } else if (may_pass && now_ms - flush_.at_ms < model::kFlushOverdueMsMax) {
    UpkeepOf(*flush_.container).flush_again_ms = now_ms + model::kFlushRetryMs;
  } else if (code == ErrorCode::kDenied) {
    const auto& table = flush_.container->definition;
    DropDueFlush(*flush_.container, std::string("the account of ") +
                                        Rules()->containers.account_variable + " lacks DELETE on " +
                                        table.db + "." + table.table);
  } else {
    DropDueFlush(*flush_.container, "its rows could not be deleted in one transaction, error " +
                                        std::string(model::Name(code)) + " " +
                                        std::to_string(flush_.error.number));
  }
}

bool Housekeeper::MayPurge(engine::Session& session, const Container& container,
                           const HousekeeperSettings& settings, Upkeep* upkeep) {
  // The store is the library's own table, like that of tokens: no row of a mapping table names it.
  if (settings.account == nullptr || container.definition.is_store) return true;
  session.BeginTurn(false);
  const Outcome verdict = MayEmpty(session, container, settings);
  CommitOrRollBack(session, verdict);
  const bool is_denied = verdict.error.code == model::ErrorCode::kDenied;
  if (is_denied && !upkeep->was_denied) {
    keyspaces_.log("expired rows of " + container.title() + " stay: the account of " +
                   settings.account_variable + " lacks DELETE on " + container.definition.db + "." +
                   container.definition.table);
  }
  upkeep->was_denied = is_denied;
  if (!verdict.ok()) upkeep->has_more = false;
  return verdict.ok();
}

bool Housekeeper::PurgeRowsOfOneTick(engine::Session& session, const Container& container,
                                     const HousekeeperSettings& settings) {
  if (settings.rows_per_second == 0) return false;
  Upkeep& upkeep = UpkeepOf(container);
  upkeep.owed_thousandths += uint64_t{settings.rows_per_second} * model::kPurgeTickMs;
  const size_t rows_max = upkeep.owed_thousandths / 1000;
  upkeep.owed_thousandths %= 1000;
  if (rows_max == 0 || !MayPurge(session, container, settings, &upkeep)) return upkeep.has_more;
  // The store's commands do not follow the clock's offset (ExpiryClockMs in
  // src/frontend/resp/string_row.h), so that what they call unexpired has to stay.
  const int64_t now_ms = container.definition.is_store ? WallClockMs() : keyspaces_.NowMs();
  const Purge::Done done = upkeep.purge.Round(session, container, now_ms, rows_max);
  container.state->counters.purged.fetch_add(done.deleted, std::memory_order_relaxed);
  if (settings.on_purged != nullptr) settings.on_purged(done.deleted);
  TellIfTheTableKeepsItsRows(container, done, &upkeep);
  upkeep.has_more = done.has_more;
  return done.has_more;
}

// SQL may delete such rows, so that a round finds none: the log says it anew only after the purge
// has deleted some.
void Housekeeper::TellIfTheTableKeepsItsRows(const Container& container, const Purge::Done& done,
                                             Upkeep* upkeep) {
  if (done.deleted != 0) upkeep->was_refused = false;
  const bool has_triggers = done.ended_by == model::ErrorCode::kTrigger;
  const bool is_refused = has_triggers || done.ended_by == model::ErrorCode::kVersioned;
  if (!is_refused || std::exchange(upkeep->was_refused, true)) return;
  const std::string table = container.definition.db + "." + container.definition.table;
  keyspaces_.log("expired rows of " + container.title() + " stay: " + table +
                 (has_triggers ? " or a table that refers to it has a trigger for DELETE"
                               : " is system-versioned"));
}

}  // namespace rowsocket::keyspace
