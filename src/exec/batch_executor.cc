#include "exec/batch_executor.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/require.h"
#include "exec/describe.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

/// How often the process list gets a new text.
constexpr int64_t kDescribeBatchMs = 500;
/// How long an executor without a session sleeps if there is no batch to give back.
constexpr std::chrono::hours kUnservedTick{1};

}  // namespace

BatchExecutor::BatchExecutor(engine::SessionFactory& sessions, StatRegistry& stats,
                             std::function<void()> wake)
    : sessions_(sessions), wake_(std::move(wake)), stats_(stats) {}

bool BatchExecutor::Start() {
  return thread_.Start(sessions_, engine::LockWait::kNever, [this](engine::Session* session) {
    if (session != nullptr)
      Main(*session);
    else if (!sessions_.IsStopping())
      GiveAllBack();
  });
}

void BatchExecutor::Stop() {
  if (!thread_.joinable()) return;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyOne();
  }
  thread_.Join();
}

void BatchExecutor::Publish(Batch& batch) {
  const base::MutexLock lock(mutex_);
  ROWSOCKET_REQUIRE(published_ == nullptr);
  published_ = &batch;
  if (waits_) work_.NotifyOne();
}

Batch* BatchExecutor::TakeBack() {
  const base::MutexLock lock(mutex_);
  return std::exchange(published_, nullptr);
}

Batch* BatchExecutor::TakeDone() {
  const base::MutexLock lock(mutex_);
  last_done_ = nullptr;
  return std::exchange(first_done_, nullptr);
}

void BatchExecutor::Main(engine::Session& session) {
  Describe(session, 0);
  while (Batch* batch = Next(session)) {
    Describe(session, batch->turn.size());
    batch->turn.Run(session);
    Done(*batch);
  }
}

// The worker executes these batches itself: otherwise their clients would wait for ever.
void BatchExecutor::GiveAllBack() {
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    Batch* const batch = std::exchange(published_, nullptr);
    if (batch == nullptr) {
      waits_ = true;
      work_.WaitFor(lock, kUnservedTick,
                    [this]() REQUIRES(mutex_) { return stopping_ || published_ != nullptr; });
      waits_ = false;
      continue;
    }
    batch->is_unserved = true;
    lock.Unlock();
    Done(*batch);
    lock.Lock();
  }
}

Batch* BatchExecutor::Next(engine::Session& session) {
  base::MutexLock lock(mutex_);
  while (!stopping_ && !session.ShouldStop()) {
    if (published_ != nullptr) return std::exchange(published_, nullptr);
    const bool has_to_release = session.HasToRelease();
    waits_ = true;
    const std::chrono::milliseconds timeout{has_to_release ? model::kReleaseTablesMs
                                                           : model::kSessionTickMs};
    const bool has_work = work_.WaitFor(
        lock, timeout, [this]() REQUIRES(mutex_) { return stopping_ || published_ != nullptr; });
    waits_ = false;
    if (has_work || !has_to_release) continue;
    lock.Unlock();
    session.ReleaseTables();
    described_ms_ = 0;
    Describe(session, 0);
    lock.Lock();
  }
  return nullptr;
}

void BatchExecutor::Done(Batch& batch) {
  {
    const base::MutexLock lock(mutex_);
    batch.next_done = nullptr;
    (last_done_ == nullptr ? first_done_ : last_done_->next_done) = &batch;
    last_done_ = &batch;
  }
  wake_();
}

void BatchExecutor::Describe(engine::Session& session, size_t requests) {
  const int64_t now_ms = base::CoarseNowMs();
  if (described_ms_ != 0 && now_ms - described_ms_ < kDescribeBatchMs) return;
  described_ms_ = now_ms;
  DescribeSession(session, [requests] {
    return requests == 0 ? "mode=batch, idle"
                         : "mode=batch, " + std::to_string(requests) + " requests";
  });
}

}  // namespace rowsocket::exec
