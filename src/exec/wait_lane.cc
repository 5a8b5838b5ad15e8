#include "exec/wait_lane.h"

#include <chrono>

#include "model/limits.h"

namespace rowsocket::exec {

namespace {

constexpr std::chrono::seconds kIdleThreadLife{1};

}  // namespace

void WaitLane::Submit(std::unique_ptr<WaitJob> job) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  Reap();
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < threads_max_) {
    Thread& thread = threads_.emplace_back();
    thread.thread = std::thread([this, &thread] { Main(thread); });
  } else {
    work_.notify_one();
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

void WaitLane::Stop() {
  std::list<Thread> ending;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    for (Thread& thread : threads_) {
      if (thread.session != nullptr) thread.session->Interrupt();
    }
    work_.notify_all();
    ending.swap(threads_);
  }
  for (Thread& thread : ending) thread.thread.join();
}

// A thread without work keeps its session for a second: waits tend to come together.
std::unique_ptr<WaitJob> WaitLane::NextJob(Thread& self) {
  std::unique_lock lock(mutex_);
  if (jobs_.empty() && self.session != nullptr && !stopping_) {
    // Idle sessions hold no table, or DDL would wait for them.
    engine::Session* session = self.session;
    lock.unlock();
    session->ReleaseTables();
    session->Describe("handlersocket: mode=lock wait, idle");
    lock.lock();
  }
  ++idle_;
  work_.wait_for(lock, kIdleThreadLife, [this] { return stopping_ || !jobs_.empty(); });
  --idle_;
  if (stopping_ || jobs_.empty()) {
    self.session = nullptr;
    return nullptr;
  }
  std::unique_ptr<WaitJob> job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

void WaitLane::Main(Thread& self) {
  std::unique_ptr<engine::Session> session = sessions_.Create(engine::LockWait::kServer);
  {
    StatBlock stats(stats_);
    if (session != nullptr) {
      std::lock_guard lock(mutex_);
      self.session = session.get();
    }
    while (session != nullptr && !session->ShouldStop()) {
      std::unique_ptr<WaitJob> job = NextJob(self);
      if (job == nullptr) break;
      session->Describe("handlersocket: mode=lock wait, 1 request");
      Run(*session, *job, stats);
      WaitJobOwner* owner = job->owner;
      owner->Done(std::move(job));
    }
    std::lock_guard lock(mutex_);
    self.session = nullptr;
  }
  session.reset();
  std::lock_guard lock(mutex_);
  self.finished = true;
}

void WaitLane::Run(engine::Session& session, WaitJob& job, StatBlock& stats) {
  stats.Add(Stat::kLockWaits);
  std::shared_ptr<engine::Index> index;
  job.outcome = session.OpenIndex(job.names, &index);
  if (job.item.kind == Item::Kind::kOpen) return;
  if (!job.outcome.ok()) {
    job.frontend->ReplyError(job.item, job.outcome.error, job.reply);
    return;
  }
  job.item.index = index.get();
  RunRequest(session, job, *index);
}

// A deadlock here is met by this one request: it alone runs again, a bounded number of times.
void WaitLane::RunRequest(engine::Session& session, WaitJob& job, engine::Index&) {
  const bool writes = job.item.request.is_write();
  for (uint32_t attempt = 0; attempt <= model::kBatchRetriesMax; ++attempt) {
    job.reply.Truncate(0);
    session.BeginTurn(writes);
    job.outcome = job.frontend->Execute(job.item, session, job.reply);
    if (job.outcome.transaction_lost) {
      session.Rollback();
      continue;
    }
    const engine::Outcome commit = session.Commit();
    if (!commit.ok()) {
      job.reply.Truncate(0);
      job.outcome = commit;
      job.frontend->ReplyError(job.item, commit.error, job.reply);
    }
    return;
  }
  job.frontend->ReplyError(job.item, job.outcome.error, job.reply);
}

}  // namespace rowsocket::exec
