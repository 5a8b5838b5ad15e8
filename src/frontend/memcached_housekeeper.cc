#include "frontend/memcached_housekeeper.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "frontend/memcached_flush.h"

namespace rowsocket::frontend {

using containers::Container;
using engine::Outcome;

namespace {

/// How often Stop interrupts what is under way.
constexpr std::chrono::milliseconds kInterruptEvery{20};

bool EndTurn(engine::Session& session, const Outcome& outcome) {
  if (outcome.ok()) return session.Commit().ok();
  session.Rollback();
  return false;
}

}  // namespace

bool MemcachedHousekeeper::Start() {
  try {
    thread_ = std::thread([this] { Main(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

// A session may forget an interrupt that comes between two of its calls, so one is not enough.
void MemcachedHousekeeper::Stop() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    const auto has_ended = [this] { return has_ended_; };
    for (; !has_ended_; ended_.wait_for(lock, kInterruptEvery, has_ended)) {
      if (session_ != nullptr) session_->Interrupt();
    }
  }
  thread_.join();
}

void MemcachedHousekeeper::Main() {
  const std::unique_ptr<engine::Session> session = sessions_.Create(engine::LockWait::kNever);
  if (session != nullptr) Loop(*session);
  std::lock_guard lock(mutex_);
  session_ = nullptr;
  has_ended_ = true;
  ended_.notify_all();
}

void MemcachedHousekeeper::Loop(engine::Session& session) {
  session.Describe("mode=housekeeping");
  std::unique_lock lock(mutex_);
  session_ = &session;
  while (!stopping_ && !session.ShouldStop()) {
    lock.unlock();
    const bool has_more = RunOnce(session);
    session.ReleaseTables();
    lock.lock();
    const int64_t until_flush_ms = shared_.next_flush_ms.load() - shared_.NowMs();
    const int64_t wait_ms = std::clamp<int64_t>(
        until_flush_ms, 1, has_more ? model::kPurgeTickMs : model::kPurgeIdleMs);
    if (!stopping_) wake_.wait_for(lock, std::chrono::milliseconds(wait_ms));
  }
}

bool MemcachedHousekeeper::RunOnce(engine::Session& session) {
  shared_.catalog.Refresh(session);
  const auto snapshot = shared_.catalog.current();
  shared_.next_flush_ms.store(kNever);
  bool has_more = false;
  std::erase_if(purges_, [&](const auto& each) { return snapshot->Find(each.first) == nullptr; });
  for (const auto& container : snapshot->containers) {
    if (stopping_) break;
    if (!container->usable()) continue;
    FlushDue(*container);
    if (container->expiry != containers::ExpiryKind::kNone && rows_per_second_ != 0) {
      has_more = Purge(session, *container) || has_more;
    }
  }
  return has_more;
}

/// Returns the one before.
engine::Session* MemcachedHousekeeper::Interruptible(engine::Session* session) {
  std::lock_guard lock(mutex_);
  return std::exchange(session_, session);
}

void MemcachedHousekeeper::FlushDue(const Container& container) {
  std::atomic<int64_t>& flush_at_ms = container.state->flush_at_ms;
  int64_t at_ms = flush_at_ms.load();
  if (at_ms == 0) return;
  if (shared_.NowMs() < at_ms) return shared_.FlushIsDueAt(at_ms);
  bool flushed = false;
  try {
    std::thread([&] { flushed = Flush(container); }).join();
  } catch (const std::system_error&) {
    // No thread is to be had.
  }
  // Unless another has taken its place meanwhile. One that failed is tried again.
  if (flushed)
    flush_at_ms.compare_exchange_strong(at_ms, 0);
  else
    shared_.FlushIsDueAt(shared_.NowMs() + model::kFlushRetryMs);
}

// On a thread of its own: one thread has one session.
bool MemcachedHousekeeper::Flush(const Container& container) {
  const std::unique_ptr<engine::Session> session = sessions_.Create(engine::LockWait::kServer);
  if (session == nullptr) return false;
  session->Describe("mode=housekeeping, flush_all");
  engine::Session* const purging = Interruptible(session.get());
  session->BeginTurn(true);
  const bool flushed = EndTurn(*session, DeleteAllRows(container, *session));
  Interruptible(purging);
  return flushed;
}

bool MemcachedHousekeeper::Purge(engine::Session& session, const Container& container) {
  PurgeOf& of = purges_[container.name()];
  of.thousandths += uint64_t{rows_per_second_} * model::kPurgeTickMs;
  const size_t rows_max = of.thousandths / 1000;
  of.thousandths %= 1000;
  if (rows_max == 0) return true;
  const MemcachedPurge::Done done = of.purge.Round(session, container, shared_.NowMs(), rows_max);
  container.state->counters.purged.fetch_add(done.deleted, std::memory_order_relaxed);
  shared_.counters.Add(MemcachedStat::kPurged, done.deleted);
  return done.has_more;
}

}  // namespace rowsocket::frontend
