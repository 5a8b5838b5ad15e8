// How a thread of the wait lane executes the requests of a waiting group.
#include <algorithm>
#include <chrono>
#include <new>

#include "base/clock.h"
#include "exec/wait_lane.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

/// Whether requests that give way are now answered, and no longer executed. A request that gives
/// way to a DDL statement is executed kGiveWayTriesMax times. Units that have met a row lock while
/// they held rows of their own are executed for as long as a wait for a row takes, and at least
/// kUnitMetLocksMax times, so that each lock that a unit may need can be the one that it waits for
/// first.
bool IsOver(const WaitJobs& left, int64_t tries, int64_t waited_ms,
            const engine::Session& session) {
  const bool all_wait_for_rows = std::all_of(left.begin(), left.end(), [](const auto& job) {
    return job->outcome.error.code == model::ErrorCode::kLockWait;
  });
  if (!all_wait_for_rows) return tries >= model::kGiveWayTriesMax;
  return tries >= int64_t{model::kUnitMetLocksMax} && waited_ms >= session.row_wait_ms();
}

}  // namespace

// If memory runs out, the clients whose requests have no answer yet are lost.
void WaitLane::Run(engine::Session& session, Turn& turn, WaitJobs& jobs) {
  WaitJobs left;
  left.swap(jobs);
  try {
    RunLeft(session, turn, left, jobs);
  } catch (const std::bad_alloc&) {
    session.Rollback();
    for (const std::unique_ptr<WaitJob>& job : left) job->loss = Loss::kMemory;
  }
  jobs.splice(jobs.end(), left);
}

// Requests that give way run again a moment later, without the others.
void WaitLane::RunLeft(engine::Session& session, Turn& turn, WaitJobs& left, WaitJobs& done) {
  size_t count = 0;
  int64_t tries = 0;
  int64_t since_ms = 0;
  for (;;) {
    if (left.front()->item.opens())
      Open(session, *left.front());
    else
      RunTurn(session, turn, left);
    MoveJobs(left, done, [](const WaitJob& job) {
      return job.outcome.result != engine::Outcome::Result::kGivesWay;
    });
    if (left.empty()) return;
    // When one request has ended, another session may hold the lock that the others wait for.
    if (left.size() != count) {
      count = left.size();
      tries = 0;
      since_ms = base::CoarseNowMs();
    }
    if (IsOver(left, ++tries, base::CoarseNowMs() - since_ms, session) || !Pause(session)) break;
  }
  // The requests left over are answered with the error of their last attempt.
  if (!left.front()->item.opens()) turn.FinishThoseThatGiveWay(session);
}

// Sleeps for a moment. False when the lane stops.
bool WaitLane::Pause(engine::Session& session) {
  session.ReleaseTables();
  base::MutexLock lock(mutex_);
  return !stops_.WaitFor(lock, std::chrono::milliseconds(model::kGiveWayPauseMs),
                         [this]() REQUIRES(mutex_) { return stopping_; });
}

void WaitLane::Open(engine::Session& session, WaitJob& job) {
  job.outcome = session.OpenIndexFor(job.item.request.account, *job.item.names, &job.index);
}

void WaitLane::RunTurn(engine::Session& session, Turn& turn, const WaitJobs& jobs) {
  turn.Clear();
  for (const std::unique_ptr<WaitJob>& job : jobs) {
    job->out = net::GatedOutput();
    job->turn = TurnClient();
    job->turn.frontend = job->frontend;
    job->turn.out = &job->out;
    turn.Add(job->turn).item = job->item;
    turn.Added();
  }
  turn.Run(session);
  const TurnItem* next = turn.items().data();
  for (const std::unique_ptr<WaitJob>& job : jobs) {
    const TurnItem& item = *next++;
    job->is_handed_back = job->turn.stopped();
    // The turn was full: the worker's batch executes the job, or the next waiting group does.
    if (job->is_handed_back) {
      job->outcome = engine::Outcome();
      continue;
    }
    job->outcome = engine::Outcome::Of(item.answer);
    job->outcome.rows = item.rows;
    if (item.gives_way) job->outcome.result = engine::Outcome::Result::kGivesWay;
    job->loss = job->turn.loss;
  }
}

void WaitLane::Fail(WaitJob& job, model::Error error) {
  job.outcome = engine::Outcome::Of(error);
  if (job.item.opens()) return;
  try {
    job.frontend->ReplyError(job.item, error, job.out.bytes());
    StatBlock stats(stats_);
    EndItem(job.item, error, 0, *job.frontend, stats);
  } catch (const std::bad_alloc&) {
    job.loss = Loss::kMemory;
  }
}

}  // namespace rowsocket::exec
