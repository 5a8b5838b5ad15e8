// How a worker's connections get through a lock wait.
#include <algorithm>
#include <new>

#include "exec/worker_client.h"

namespace rowsocket::exec {

void Worker::StartWait(Client& client) {
  std::unique_ptr<WaitJob> job;
  try {
    job = MakeWait(client);
  } catch (const std::bad_alloc&) {
    return Lose(client, Loss::kMemory);
  }
  if (job == nullptr) return;
  client.waits = true;
  client.job = job.get();
  client.connection.SetInputHeld(true);
  stats_->Add(Stat::kLockWaits);
  context_.lane->Submit(std::move(job));
}

// The job gets a copy of the request's bytes: the turn's arena is reused before it is done. Null if
// there is nothing to wait for any more.
std::unique_ptr<WaitJob> Worker::MakeWait(Client& client) {
  const TurnItem& item = *client.turn.stopped_at;
  auto job = std::make_unique<WaitJob>();
  job->owner = this;
  job->client = &client;
  job->frontend = client.frontend.get();
  job->was_handed_back = client.was_handed_back;
  job->line.assign(client.connection.in().view().substr(0, item.input_end - item.input_begin));
  if (item.is_silent_open()) {
    job->item = item.item;
  } else {
    client.frontend->Parse(job->line, false, job->arena, &job->item);
  }
  client.frontend->Rewind();
  job->row = WaitLane::RowOf(job->item);
  // What it means may have changed meanwhile: then it is parsed anew, with the input.
  const bool means_the_same = job->item.kind == Item::Kind::kRequest ||
                              (job->item.kind == Item::Kind::kOpen && job->item.names != nullptr);
  return means_the_same ? std::move(job) : nullptr;
}

// The lane does not look who commits beside it.
void Worker::HoldIfUndurable(Client& client, const WaitJob& job) {
  TurnItem item;
  item.client = &client.turn;
  item.item = job.item;
  if (item.is_write()) return;
  const uint64_t commit = context_.commits->MarkUndurable({&item, 1}, *session_, *this);
  if (commit != 0) Hold(client, commit);
}

void Worker::FinishWait(WaitJob& job) {
  Client& client = *static_cast<Client*>(job.client);
  client.waits = false;
  if (client.retired) {
    // One that was retired in this round is in retired_ still, and freed with the others.
    if (std::erase(orphans_, &client) != 0) delete &client;
    return;
  }
  if (job.loss != Loss::kNone) return Lose(client, job.loss);
  try {
    TakeAnswer(client, job);
  } catch (const std::bad_alloc&) {
    Lose(client, Loss::kMemory);
  }
}

void Worker::TakeAnswer(Client& client, WaitJob& job) {
  client.connection.SetInputHeld(false);
  client.was_handed_back = job.is_handed_back;
  const bool is_open = job.item.kind == Item::Kind::kOpen;
  if (is_open && job.line.empty() && !job.outcome.ok()) {
    client.frontend->Opened(job.item, job.outcome, nullptr);
  } else if (!job.is_handed_back && (!is_open || !job.outcome.ok())) {
    net::GatedOutput& out = client.connection.out();
    if (is_open) {
      client.frontend->ReplyError(job.item, job.outcome.error, out.bytes());
      CountAnswer(job.item, job.outcome.error, 0, *stats_);
      client.frontend->Finished(job.item, job.outcome.error);
    } else {
      out.bytes().Append(job.reply());
    }
    out.OpenGate();
    client.connection.in().Consume(job.line.size());
  }
  client.has_more = true;
  if (!is_open && !job.is_handed_back) HoldIfUndurable(client, job);
  if (!client.in_batch) SendTo(client);
}

}  // namespace rowsocket::exec
