#include "frontend/memcached_housekeeper.h"

#include <algorithm>
#include <chrono>
#include <system_error>

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
  for (const auto& container : snapshot->containers) {
    if (stopping_) break;
    if (!container->usable()) continue;
    FlushDue(session, *container);
    if (container->expiry != containers::ExpiryKind::kNone && rows_per_second_ != 0) {
      has_more = Purge(session, *container) || has_more;
    }
  }
  return has_more;
}

void MemcachedHousekeeper::FlushDue(engine::Session& session, const Container& container) {
  std::atomic<int64_t>& flush_at_ms = container.state->flush_at_ms;
  int64_t at_ms = flush_at_ms.load();
  if (at_ms == 0) return;
  if (shared_.NowMs() < at_ms) return shared_.FlushIsDueAt(at_ms);
  session.BeginTurn(true);
  const bool flushed = EndTurn(session, DeleteAllRows(container, session));
  // Unless another has taken its place meanwhile. One that failed is tried again.
  if (flushed)
    flush_at_ms.compare_exchange_strong(at_ms, 0);
  else
    shared_.FlushIsDueAt(shared_.NowMs() + model::kPurgeTickMs);
}

bool MemcachedHousekeeper::Purge(engine::Session& session, const Container& container) {
  const size_t rows_max =
      std::max<size_t>(1, rows_per_second_ * static_cast<size_t>(model::kPurgeTickMs) / 1000);
  const MemcachedPurge::Done done =
      purges_[container.name()].Round(session, container, shared_.NowMs(), rows_max);
  container.state->counters.purged.fetch_add(done.deleted, std::memory_order_relaxed);
  shared_.counters.Add(MemcachedStat::kPurged, done.deleted);
  return done.has_more;
}

}  // namespace rowsocket::frontend
