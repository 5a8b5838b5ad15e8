#include "exec/batch_collector.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/clock.h"

namespace rowsocket::exec {

namespace {

/// A commit that takes less than this costs less than handing a batch over and back. Such commits
/// flush nothing, because nothing was changed or the server is told to flush later.
constexpr std::chrono::microseconds kCheapCommit{50};
/// After so many batches without a find between them, no find is expected during the next batch.
constexpr uint32_t kQuietBatches = 32;
/// A worker that commits quiet batches itself keeps the next find waiting for this long at most, as
/// a rule: after a longer commit, because of a replica or a backup, the executor commits again.
constexpr std::chrono::milliseconds kShortCommit{5};

/// A batch of fewer requests also takes in requests that are sent while the batch is put together:
/// each of them would later cost a larger part of a flush than looking once more costs now.
constexpr size_t kGatherBelow = 128;
/// How often a worker looks for more requests before it runs a batch. It stops earlier when a look
/// brings no new client.
constexpr uint32_t kGatherRoundsMax = 8;

}  // namespace

BatchCollector::BatchCollector(WorkerCore& core, ClientTable& clients, const InputConsumer& input,
                               const ItemReader& reader)
    : core_(core),
      clients_(clients),
      input_(input),
      reader_(reader),
      executor_(*core.context.sessions, *core.context.stats, [&core] { core.loop.Wake(); }) {
  for (uint32_t i = 0; i < model::kBatchesMax; ++i) {
    batches_.push_back(std::make_unique<ClientBatch>(executor_.stats(), *core_.context.commits));
    batches_.back()->turn.LimitTime(core_.settings.turn_ms_max);
    free_.push_back(batches_.back().get());
  }
}

void BatchCollector::Stop() {
  executor_.Stop();
  TakeDone(nullptr);
  waiting_.clear();
}

bool BatchCollector::IsFull(const ClientBatch& batch) {
  size_t bytes = batch.arena.allocated_bytes();
  for (const auto& kept : batch.kept) bytes += kept->allocated_bytes();
  return batch.turn.size() >= model::kTurnRequestsMax || bytes >= model::kTurnArenaBytesMax;
}

BatchCollector::ClientBatch* BatchCollector::Collecting() {
  if (collecting_ == nullptr) collecting_ = static_cast<ClientBatch*>(executor_.TakeBack());
  if (collecting_ == nullptr && !free_.empty()) {
    collecting_ = free_.back();
    free_.pop_back();
    collecting_->arena.Reset();
    collecting_->places.Begin(core_.settings.account_limits);
  }
  return collecting_ != nullptr && !IsFull(*collecting_) ? collecting_ : nullptr;
}

// A connection that keeps many requests in flight gets no more of a batch than all others together
// have had of late, so that it at most doubles the time of a batch.
uint32_t BatchCollector::Share() const {
  return others_requests_ == 0 ? model::kBatchRequestsAloneMax
                               : std::clamp(others_requests_, model::kBatchRequestsShareMin,
                                            model::kTurnRequestsPerConnectionMax);
}

bool BatchCollector::TakeLast(ClientBatch* batch, Client& client, Turn& finds,
                              const std::shared_ptr<base::Arena>& arena) {
  const bool is_kept = batch != nullptr && !batch->kept.empty() && batch->kept.back() == arena;
  if (batch == nullptr || (!is_kept && batch->kept.size() == model::kBatchArenasMax)) {
    finds.DropLast();
    client.frontend->Rewind();
    client.parsed = 0;
    return false;
  }
  if (!is_kept) batch->kept.push_back(arena);
  finds.MoveTo(batch->turn, finds.size() - 1);
  batch->turn.Added();
  client.has_requests = true;
  client.closes = batch->turn.items().back().item.closes;
  return true;
}

bool BatchCollector::Parse(Client& client, engine::Session& session, Turn& finds, uint32_t places,
                           const std::shared_ptr<base::Arena>& arena) {
  ClientBatch* batch = Collecting();
  const uint64_t account = IdOf(client.frontend->account());
  if (batch != nullptr) places = std::min(places, batch->places.Left(account));
  if (places == 0) batch = nullptr;
  const size_t first = batch != nullptr ? batch->turn.size() : 0;
  const bool has_first = arena != nullptr && TakeLast(batch, client, finds, arena);
  if (batch == nullptr) return false;
  const ItemReader::Target target{batch->turn, batch->arena, /*takes_writes=*/true};
  const uint32_t share = std::min(Share(), places);
  client.has_more = false;
  for (uint32_t count = has_first; !client.closes; ++count) {
    client.has_more = count == share || IsFull(*batch);
    if (client.has_more) break;
    if (reader_.ReadOne(client, session, target) == ItemReader::Parsed::kEnd) break;
  }
  const auto count = static_cast<uint32_t>(batch->turn.size() - first);
  if (count == 0) return true;
  const std::vector<TurnItem>& items = batch->turn.items();
  client.is_writer = std::any_of(items.begin() + static_cast<ptrdiff_t>(first), items.end(),
                                 [](const TurnItem& item) { return item.is_write(); });
  if (!client.is_writer) {
    // The views of these items stay valid: the batch is not reused before the next round.
    batch->turn.MoveTo(finds, first);
    return true;
  }
  batch->places.Add(account, count);
  batch->clients.push_back(&client);
  client.SetAway(Away::kInBatch);
  batch->largest = std::max(batch->largest, count);
  const bool is_time = batch->clients.size() % model::kPublishEvery == 0;
  if (is_time && !commits_are_cheap_ && !IsQuiet()) Publish();
  return true;
}

void BatchCollector::Await(Client& client) {
  client.SetAway(Away::kAwaitsBatch);
  waiting_.push_back(&client);
}

void BatchCollector::DropAllOf(const TurnClient& client) {
  if (collecting_ != nullptr) collecting_->turn.DropAllOf(client);
}

void BatchCollector::Publish() {
  gathers_ = false;
  gather_rounds_ = 0;
  ClientBatch* batch = std::exchange(collecting_, nullptr);
  if (batch == nullptr) return;
  if (!batch->turn.empty()) return executor_.Publish(*batch);
  // The batch had only finds, which are in the turn now; their values may have filled the batch's
  // arena.
  free_.push_back(batch);
  EndAwait();
}

// Clients that a batch had no time for come first, then those that wait for a batch: otherwise
// clients whose batch is done could fill the next one again and again.
void BatchCollector::EndAwait(std::span<Client* const> passed_over) {
  if (waiting_.empty() && passed_over.empty()) return;
  std::vector<Client*>& ready = clients_.ready();
  const auto others = static_cast<ptrdiff_t>(ready.size());
  for (Client* const client : passed_over) {
    if (!client->is_retired() && !client->is_away()) clients_.ComeBack(*client);
  }
  for (uint32_t i = 0; i < model::kTurnRequestsMax && !waiting_.empty(); ++i) {
    Client* client = waiting_.front();
    waiting_.pop_front();
    client->SetAway(Away::kNo);
    clients_.ComeBack(*client);
  }
  std::rotate(ready.begin(), ready.begin() + others, ready.end());
}

// No client has read of late: there is no find that the worker could serve while the executor
// commits.
bool BatchCollector::IsQuiet() const { return batches_without_finds_ >= kQuietBatches; }

// Running the batch here saves two changes of threads, and keeps no other client waiting for more
// than a moment.
bool BatchCollector::RunsHere() const {
  return collecting_ != nullptr && !collecting_->turn.empty() &&
         (clients_.size() == 1 || commits_are_cheap_ || IsQuiet()) &&
         free_.size() + 1 == batches_.size();
}

// While some requests were received and parsed, other clients have sent theirs: these would wait
// for this flush and then need a flush of their own. A batch of clients that pipeline is larger,
// and goes on while it would still be small for clients with one request each.
bool BatchCollector::GathersMore() {
  const size_t enough =
      std::min<size_t>(kGatherBelow * collecting_->largest, model::kTurnRequestsMax);
  return !commits_are_cheap_ && collecting_->turn.size() < enough &&
         collecting_->clients.size() < std::min(clients_.size(), kGatherBelow) &&
         ++gather_rounds_ <= kGatherRoundsMax;
}

void BatchCollector::GatherOrRun(engine::Session& session) {
  gathers_ = GathersMore();
  if (!gathers_) RunHere(session);
}

void BatchCollector::EndGather(engine::Session& session) {
  gathers_ = false;
  if (RunsHere())
    RunHere(session);
  else
    Publish();
}

void BatchCollector::RunHere(engine::Session& session) {
  gather_rounds_ = 0;
  Run(*std::exchange(collecting_, nullptr), session);
}

void BatchCollector::Run(ClientBatch& batch, engine::Session& session) {
  batch.turn.Run(session);
  const std::chrono::nanoseconds time = batch.turn.commit_time();
  if (time != Turn::kNoCommit)
    core_.load.CountCommit(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  core_.clock.HasWorked();
  Finish(batch, &session);
}

void BatchCollector::TakeDone(engine::Session* session) {
  for (Batch* batch = executor_.TakeDone(); batch != nullptr;) {
    Batch* const next = batch->next_done;
    auto& done = static_cast<ClientBatch&>(*batch);
    if (done.is_unserved) [[unlikely]]
      RunUnserved(done, session);
    else
      Finish(done, session);
    batch = next;
  }
}

// When the worker ends, the batch is treated like one that the executor has not taken: its clients
// are closed.
void BatchCollector::RunUnserved(ClientBatch& batch, engine::Session* session) {
  if (session == nullptr) return;
  batch.is_unserved = false;
  if (!std::exchange(has_told_unserved_, true)) {
    try {
      core_.context.log("no memory for the session of a batch executor (" + core_.settings.mode +
                        "): its worker writes itself, while finds wait; give the server more "
                        "memory, and restart it");
    } catch (const std::bad_alloc&) {  // The log lacks a line.
    }
  }
  Run(batch, *session);
}

void BatchCollector::Finish(ClientBatch& batch, engine::Session* session) {
  size_t passed_over = 0;
  if (batch.turn.is_full()) {
    const auto end =
        std::stable_partition(batch.clients.begin(), batch.clients.end(),
                              [](const Client* client) { return client->was_passed_over(); });
    passed_over = static_cast<size_t>(end - batch.clients.begin());
  }
  core_.NoteTurn(batch.turn, base::NowNs(), session);
  for (size_t i = 0; i < batch.clients.size(); ++i) {
    Client* const client = batch.clients[i];
    client->SetAway(Away::kNo);
    if (client->turn.loss != Loss::kNone) {
      clients_.Lose(*client, client->turn.loss);
      continue;
    }
    try {
      input_.Consume(*client);
    } catch (const std::bad_alloc&) {
      clients_.Lose(*client, Loss::kMemory);
    }
    const bool comes_first = i < passed_over && !client->is_away();
    if (!client->is_retired() && !comes_first) clients_.ComeBack(*client);
  }
  core_.NoteSent(batch.turn.times(), session);
  NoteCommit(batch);
  EndAwait(std::span(batch.clients).first(passed_over));
  batch.clients.clear();
  batch.kept.clear();
  batch.largest = 0;
  batch.turn.Clear();
  free_.push_back(&batch);
}

void BatchCollector::NoteCommit(const ClientBatch& batch) {
  const auto others = static_cast<uint32_t>(batch.turn.size()) - batch.largest;
  others_requests_ = std::max(others, others_requests_ - (others_requests_ + 7) / 8);
  if (batch.turn.met_conflicts()) {
    // The next batch may well meet a conflict, too: its pauses must not keep finds waiting.
    commits_are_cheap_ = false;
    batches_without_finds_ = 0;
    return;
  }
  const std::chrono::nanoseconds time = batch.turn.commit_time();
  if (time == Turn::kNoCommit) return;
  commits_are_cheap_ = time < kCheapCommit;
  batches_without_finds_ =
      time < kShortCommit ? std::min(batches_without_finds_ + 1, kQuietBatches) : 0;
}

}  // namespace rowsocket::exec
