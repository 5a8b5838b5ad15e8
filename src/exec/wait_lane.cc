#include "exec/wait_lane.h"

#include <chrono>
#include <system_error>

#include "exec/engine_errors.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

constexpr std::chrono::seconds kIdleThreadLife{1};
/// How often Stop interrupts the sessions that have not ended.
constexpr std::chrono::milliseconds kInterruptEvery{20};

}  // namespace

void WaitLane::Submit(std::unique_ptr<WaitJob> job) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    Reap();
    if (idle_ <= jobs_.size() && serving_ < threads_max_) AddThread();
    if (serving_ != 0) {
      WaitJob& queued = *job;
      queued.place = jobs_.insert(jobs_.end(), std::move(job));
      queued.is_queued = true;
      work_.notify_one();
      return;
    }
  }
  Fail(*job, kLockWaitTimeout);
  WaitJobOwner* owner = job->owner;
  owner->Done(std::move(job));
}

// When the lane stops, the job may be gone already.
bool WaitLane::Cancel(WaitJob& job) {
  std::lock_guard lock(mutex_);
  if (stopping_ || !job.is_queued) return false;
  jobs_.erase(job.place);
  return true;
}

// The process may not be allowed any more threads.
void WaitLane::AddThread() {
  Thread& thread = threads_.emplace_back();
  try {
    thread.thread = std::thread([this, &thread] { Main(thread); });
    ++serving_;
  } catch (const std::system_error&) {
    threads_.pop_back();
  }
}

void WaitLane::Reap() {
  for (auto it = threads_.begin(); it != threads_.end();) {
    if (it->finished) {
      it->thread.join();
      it = threads_.erase(it);
    } else {
      ++it;
    }
  }
}

// A session may forget an interrupt that comes between two of its calls, so one is not enough.
void WaitLane::Stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  jobs_.clear();
  work_.notify_all();
  stops_.notify_all();
  for (Reap(); !threads_.empty(); Reap()) {
    for (Thread& thread : threads_) {
      if (thread.session != nullptr) thread.session->Interrupt();
    }
    finished_.wait_for(lock, kInterruptEvery);
  }
}

// A thread without work keeps its session for a second: waits tend to come together.
std::unique_ptr<WaitJob> WaitLane::NextJob(Thread& self) {
  std::unique_lock lock(mutex_);
  engine::Session* const session = self.session;
  if (jobs_.empty() && session != nullptr && !stopping_) {
    // Idle sessions hold no table, or DDL would wait for them.
    lock.unlock();
    session->ReleaseTables();
    session->Describe("mode=lock wait, idle");
    lock.lock();
  }
  const bool can_serve = session != nullptr && !session->ShouldStop();
  if (can_serve) {
    ++idle_;
    work_.wait_for(lock, kIdleThreadLife, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
  }
  if (!can_serve || stopping_ || jobs_.empty()) {
    self.session = nullptr;
    --serving_;
    return nullptr;
  }
  std::unique_ptr<WaitJob> job = std::move(jobs_.front());
  jobs_.pop_front();
  job->is_queued = false;
  return job;
}

void WaitLane::Main(Thread& self) {
  std::unique_ptr<engine::Session> session = sessions_.Create(engine::LockWait::kServer);
  {
    std::lock_guard lock(mutex_);
    self.session = session.get();
  }
  {
    StatBlock stats(stats_);
    while (std::unique_ptr<WaitJob> job = NextJob(self)) {
      session->Describe("mode=lock wait, 1 request");
      Run(*session, *job, stats);
      WaitJobOwner* owner = job->owner;
      owner->Done(std::move(job));
    }
  }
  session.reset();
  std::lock_guard lock(mutex_);
  self.finished = true;
  finished_.notify_all();
}

void WaitLane::Run(engine::Session& session, WaitJob& job, StatBlock& stats) {
  stats.Add(Stat::kLockWaits);
  for (uint32_t attempt = 0; attempt < model::kBackOffsMax; ++attempt) {
    RunOnce(session, job, stats);
    if (!job.outcome.back_off || !Pause(session)) break;
  }
  if (!job.outcome.ok()) Fail(job, job.outcome.error);
}

// False when the lane stops.
bool WaitLane::Pause(engine::Session& session) {
  session.ReleaseTables();
  std::unique_lock lock(mutex_);
  return !stops_.wait_for(lock, std::chrono::milliseconds(model::kBackOffMs),
                          [this] { return stopping_; });
}

void WaitLane::RunOnce(engine::Session& session, WaitJob& job, StatBlock& stats) {
  if (job.item.kind != Item::Kind::kOpen) return RunRequest(session, job, stats);
  std::shared_ptr<engine::Index> index;
  job.outcome = session.OpenIndex(*job.item.names, &index);
}

// A deadlock here is met by this one request: it alone runs again, a bounded number of times.
void WaitLane::RunRequest(engine::Session& session, WaitJob& job, StatBlock& stats) {
  const bool writes = job.item.request.is_write();
  for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax; ++attempt) {
    job.reply.Truncate(0);
    session.BeginTurn(writes);
    job.outcome = job.frontend->Execute(job.item, session, job.reply);
    if (job.outcome.transaction_lost) {
      session.Rollback();
      if (job.outcome.error != kDeadlock || job.outcome.permanent) return;
      continue;
    }
    const engine::Outcome commit = session.Commit();
    if (!commit.ok() && !job.outcome.permanent) {
      stats.Add(Stat::kCommitFailures);
      job.outcome = commit;
      return;
    }
    if (writes) stats.Add(Stat::kCommits);
    return;
  }
}

void WaitLane::Fail(WaitJob& job, model::Error error) {
  job.outcome = engine::Outcome();
  job.outcome.error = error;
  job.reply.Truncate(0);
  if (job.item.kind != Item::Kind::kOpen) job.frontend->ReplyError(job.item, error, job.reply);
}

}  // namespace rowsocket::exec
