#include "exec/lock_waits.h"

#include <new>
#include <utility>

#include "base/clock.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

/// Copies the locks that the unit has met, which the lane takes first. If the unit has other
/// requests after it was parsed again, nothing is copied, and it finds out about locks itself.
void TakeMetLocks(const Item& from, Item* to) {
  if (from.unit == nullptr || to->unit == nullptr) return;
  if (from.unit->requests.size() != to->unit->requests.size()) return;
  to->unit->met_locks = from.unit->met_locks;
  to->unit->met_locks_count = from.unit->met_locks_count;
}

}  // namespace

void LockWaits::Start(Client& client, const TurnItem& item) {
  try {
    std::unique_ptr<WaitJob> job = MakeJob(client, item);
    if (job == nullptr) return;
    if (!clients_.CountWait(client, job->held_bytes()))
      return clients_.Lose(client, Loss::kBuffers);
    client.job = job.get();
    core_.context.lane->Submit(std::move(job));
  } catch (const std::bad_alloc&) {
    return clients_.Lose(client, Loss::kMemory);
  }
  // The job, when it is done, comes back through the worker's inbox.
  client.SetAway(Away::kInLane);
  client.connection.SetInputWanted(false);
  core_.stats.Add(Stat::kLockWaits);
}

// The job gets a copy of the request's bytes: the turn's arena is reused before the job is done.
std::unique_ptr<WaitJob> LockWaits::MakeJob(Client& client, const TurnItem& item) {
  auto job = std::make_unique<WaitJob>();
  job->owner = &owner_;
  job->client = &client;
  job->frontend = client.frontend.get();
  job->must_run = client.lane_must_run;
  job->since_ns = base::NowNs();
  job->waited_before_ns = client.handed_back_ns;
  job->line.assign(client.connection.in().view().substr(0, item.input_end - item.input_begin));
  if (item.item.kind == Item::Kind::kSilentOpen) {
    job->item = item.item;
  } else {
    client.frontend->ParseForLane(job->line, job->arena, &job->item);
  }
  TakeMetLocks(item.item, &job->item);
  client.frontend->Rewind();
  job->wait_group_name =
      WaitLane::WaitGroupNameOf(job->item, item.wait == TurnItem::Wait::kElsewhere);
  // The bytes may mean something else by now: then they are parsed anew, as part of the input.
  const bool means_the_same = job->item.kind == Item::Kind::kRequest || job->item.opens();
  return means_the_same ? std::move(job) : nullptr;
}

void LockWaits::Finish(WaitJob& job, engine::Session& session, bool is_stopping) {
  Client& client = *job.client;
  client.SetAway(client.is_held() ? Away::kHeld : Away::kNo);
  if (client.is_retired()) return clients_.FreeOrphan(client);
  if (job.loss != Loss::kNone) return clients_.Lose(client, job.loss);
  if (is_stopping && !job.outcome.ok()) return clients_.Retire(client);
  try {
    TakeAnswer(client, job, session);
  } catch (const std::bad_alloc&) {
    clients_.Lose(client, Loss::kMemory);
  }
}

void LockWaits::TakeAnswer(Client& client, WaitJob& job, engine::Session& session) {
  client.connection.SetInputWanted(true);
  client.lane_must_run = job.is_handed_back;
  const bool is_open = job.item.opens();
  const bool is_silent = job.item.kind == Item::Kind::kSilentOpen;
  // The worker does not open again what the lane has opened: under a stream of GRANTs it might find
  // the tables locked each time.
  if (is_open && !job.is_handed_back)
    client.frontend->Opened(job.item, job.outcome, std::move(job.index));
  if (!is_silent && !job.is_handed_back) {
    net::GatedOutput& out = client.connection.out();
    if (is_open) {
      client.frontend->Reply(job.item, out.bytes());
      EndItem(job.item, job.outcome.error, 0, *client.frontend, core_.stats);
    } else {
      out.bytes().Append(job.reply());
    }
    out.OpenGate();
    client.Consume(job.line.size());
  }
  client.has_more = true;
  if (!is_open && !job.is_handed_back) HoldIfUndurable(client, job, session);
  if (!client.is_held()) clients_.Send(client);
  CountTime(client, job, session);
}

// A request that is handed back, or for whose sake only something was opened, has its answer later.
void LockWaits::CountTime(Client& client, const WaitJob& job, engine::Session& session) {
  const int64_t now_ns = base::NowNs(), job_ns = now_ns - job.since_ns;
  const int64_t lock_ns = job.waited_before_ns + job_ns;
  const uint32_t verb = job.item.verb;
  if (job.item.kind == Item::Kind::kSilentOpen) {
    client.handed_back_ns = lock_ns;
    return;
  }
  core_.latency.Add(verb, Phase::kLockWait, job_ns);
  core_.hot_rows.AddLockWait(job.item, job_ns, job.is_handed_back);
  if (job.is_handed_back) {
    client.handed_back_ns = lock_ns;
    return;
  }
  core_.usage.AddWaited(job.item, client.frontend->account(), job.outcome.rows, !job.outcome.ok(),
                        lock_ns, now_ns - client.turn.since_ns);
  core_.NoteWaited(job.item, client.turn, {lock_ns, now_ns, job.outcome}, session);
  if (!client.is_held())
    return core_.latency.Add(verb, Phase::kWhole, now_ns - client.turn.since_ns);
  client.turn.held_verb = verb;
  client.turn.held_from_ns = now_ns;
  ++client.turn.held_items;
}

// The lane does not ask which commits were under way during a find, so the worker does.
void LockWaits::HoldIfUndurable(Client& client, const WaitJob& job, engine::Session& session) {
  TurnItem item;
  item.client = &client.turn;
  item.item = job.item;
  if (item.is_write()) return;
  const uint64_t commit = held_.MarkUndurable({&item, 1}, session);
  if (commit != 0) held_.Hold(client, commit);
}

}  // namespace rowsocket::exec
