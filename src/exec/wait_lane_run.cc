// How a thread of the wait lane gets a group's requests executed.
#include <chrono>

#include "exec/wait_lane.h"
#include "model/limits.h"

namespace rowsocket::exec {

// Requests that give way to a DDL statement run again a moment later, without the others.
void WaitLane::Run(engine::Session& session, Turn& turn, WaitJobs& jobs) {
  std::vector<WaitJob*> left;
  for (std::unique_ptr<WaitJob>& job : jobs) left.push_back(job.get());
  for (uint32_t attempt = 0; attempt < model::kBackOffsMax; ++attempt) {
    if (left.front()->item.opens())
      Open(session, *left.front());
    else
      RunTurn(session, turn, left);
    std::erase_if(left, [](const WaitJob* job) {
      return job->outcome.result != engine::Outcome::Result::kGivesWay;
    });
    if (left.empty()) return;
    if (!Pause(session)) break;
  }
  // The requests left over are answered with the error of their last attempt.
  if (!left.front()->item.opens()) turn.FinishThoseThatGiveWay();
}

// False when the lane stops.
bool WaitLane::Pause(engine::Session& session) {
  session.ReleaseTables();
  base::MutexLock lock(mutex_);
  return !stops_.WaitFor(lock, std::chrono::milliseconds(model::kBackOffMs),
                         [this]() REQUIRES(mutex_) { return stopping_; });
}

void WaitLane::Open(engine::Session& session, WaitJob& job) {
  job.outcome = session.OpenIndexFor(job.item.request.account, *job.item.names, &job.index);
}

void WaitLane::RunTurn(engine::Session& session, Turn& turn, std::span<WaitJob*> jobs) {
  turn.Clear();
  for (WaitJob* job : jobs) {
    job->out = net::GatedOutput();
    job->turn = TurnClient();
    job->turn.frontend = job->frontend;
    job->turn.out = &job->out;
    turn.Add(job->turn).item = job->item;
    turn.Added();
  }
  turn.Run(session);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const TurnItem& item = turn.items()[i];
    jobs[i]->outcome = engine::Outcome::Of(item.answer);
    jobs[i]->outcome.rows = item.rows;
    if (item.gives_way) jobs[i]->outcome.result = engine::Outcome::Result::kGivesWay;
    jobs[i]->loss = jobs[i]->turn.loss;
  }
}

void WaitLane::Fail(WaitJob& job, model::Error error) {
  job.outcome = engine::Outcome::Of(error);
  if (job.item.opens()) return;
  job.frontend->ReplyError(job.item, error, job.out.bytes());
  StatBlock stats(stats_);
  EndItem(job.item, error, 0, *job.frontend, stats);
}

}  // namespace rowsocket::exec
