// How the connections of a worker get into batches, and back.
#include <algorithm>

#include "base/clock.h"
#include "exec/worker_client.h"

namespace rowsocket::exec {

namespace {

/// Less than handing a batch over and back costs: commits that flush nothing, because nothing was
/// changed or the server is told to flush later.
constexpr std::chrono::microseconds kCheapCommit{50};
/// So many batches without a find between them, and the next is taken to have none beside it.
constexpr uint32_t kQuietBatches = 32;
/// What the first find after that may have to wait for. Commits that take longer, because of a
/// replica or a backup, are not waited for by the worker.
constexpr std::chrono::milliseconds kShortCommit{5};

/// A batch of fewer requests takes those in that are sent while it is put together: later each
/// would cost a larger part of a flush than looking once more does.
constexpr size_t kGatherBelow = 128;
/// How often a worker looks for more before it runs a batch. Somebody new comes each time, or it
/// does not look again.
constexpr uint32_t kGatherRoundsMax = 8;

bool IsFull(const Batch& batch) {
  return batch.turn.size() >= model::kTurnRequestsMax ||
         batch.arena.allocated_bytes() >= model::kTurnArenaBytesMax;
}

}  // namespace

void Worker::MakeBatches() {
  executor_ = std::make_unique<BatchExecutor>(*context_.sessions, *context_.stats,
                                              [this] { loop_.Wake(); });
  for (uint32_t i = 0; i < model::kBatchesMax; ++i) {
    batches_.push_back(std::make_unique<ClientBatch>(executor_->stats(), *context_.commits));
    free_batches_.push_back(batches_.back().get());
  }
}

// Null when there is no room in it; then a batch that is full or done is on its way.
Worker::ClientBatch* Worker::Collecting() {
  if (collecting_ == nullptr) collecting_ = static_cast<ClientBatch*>(executor_->TakeBack());
  if (collecting_ == nullptr && !free_batches_.empty()) {
    collecting_ = free_batches_.back();
    free_batches_.pop_back();
    collecting_->arena.Reset();
  }
  return collecting_ != nullptr && !IsFull(*collecting_) ? collecting_ : nullptr;
}

// A connection that keeps many requests in flight gets no more of a batch than all others together
// have of late, so that it at most doubles what a batch takes.
uint32_t Worker::BatchShare() const {
  return batch_others_ == 0 ? model::kBatchRequestsAloneMax
                            : std::clamp(batch_others_, model::kBatchRequestsShareMin,
                                         model::kTurnRequestsPerConnectionMax);
}

// False when there is no room for it.
bool Worker::ParseIntoBatch(Client& client, engine::Session& session) {
  ClientBatch* batch = Collecting();
  if (batch == nullptr) return false;
  const Place place{batch->turn, batch->arena};
  const size_t first = batch->turn.size();
  const uint32_t share = BatchShare();
  client.has_more = false;
  for (uint32_t count = 0;; ++count) {
    client.has_more = count == share || IsFull(*batch);
    if (client.has_more || ParseOne(client, session, place) == Parsed::kEnd) break;
  }
  const auto count = static_cast<uint32_t>(batch->turn.size() - first);
  if (count == 0) return true;
  const std::vector<TurnItem>& items = batch->turn.items();
  client.writes = std::any_of(items.begin() + static_cast<ptrdiff_t>(first), items.end(),
                              [](const TurnItem& item) { return item.is_write(); });
  if (!client.writes) {
    // The views of these items stay valid: a batch is not used anew before the next round.
    batch->turn.MoveTo(*turn_, first);
    return true;
  }
  client.in_batch = true;
  batch->clients.push_back(&client);
  batch->largest = std::max(batch->largest, count);
  const bool is_time = batch->clients.size() % model::kPublishEvery == 0;
  if (is_time && !commits_are_cheap_ && !NobodyReads()) PublishBatch();
  return true;
}

void Worker::AwaitBatch(Client& client) {
  client.in_batch = true;
  await_batch_.push_back(&client);
}

void Worker::PublishBatch() {
  gather_rounds_ = 0;
  ClientBatch* batch = std::exchange(collecting_, nullptr);
  if (batch == nullptr) return;
  if (!batch->turn.empty()) return executor_->Publish(*batch);
  // It had finds only, which are in the turn now; their values may have filled its arena.
  free_batches_.push_back(batch);
  EndAwait();
}

// In front of all others: else those whose batch is done could fill the next one again and again.
void Worker::EndAwait() {
  if (await_batch_.empty()) return;
  std::vector<Client*> others;
  others.swap(ready_);
  for (uint32_t i = 0; i < model::kTurnRequestsMax && !await_batch_.empty(); ++i) {
    Client* client = await_batch_.front();
    await_batch_.pop_front();
    ComeBack(*client);
  }
  ready_.insert(ready_.end(), others.begin(), others.end());
}

// Then nobody would be served while the executor commits.
bool Worker::NobodyReads() const { return batches_without_finds_ >= kQuietBatches; }

// Nobody has to wait meanwhile, or not for long, and two changes of threads are saved.
bool Worker::RunsBatchHere() const {
  return collecting_ != nullptr && !collecting_->turn.empty() &&
         (clients_.size() == 1 || commits_are_cheap_ || NobodyReads()) &&
         free_batches_.size() + 1 == batches_.size();
}

// While the requests of some were received and parsed, others have sent theirs: they would wait for
// this flush and then need one of their own. Who pipelines has more to send, too; looking at that
// would cost two changes of what is waited for on each connection.
bool Worker::GathersMore() {
  return !commits_are_cheap_ && collecting_->largest == 1 &&
         collecting_->clients.size() < std::min(clients_.size(), kGatherBelow) &&
         ++gather_rounds_ <= kGatherRoundsMax;
}

// Nobody new has come.
void Worker::EndGather(engine::Session& session) {
  gathers_ = false;
  if (RunsBatchHere())
    RunBatchHere(session);
  else
    PublishBatch();
}

void Worker::RunBatchHere(engine::Session& session) {
  gather_rounds_ = 0;
  ClientBatch& batch = *std::exchange(collecting_, nullptr);
  batch.turn.Run(session);
  worked_ms_ = now_ms_ = base::CoarseNowMs();
  FinishBatch(batch);
}

void Worker::TakeDoneBatches() {
  if (executor_ == nullptr) return;
  for (Batch* batch = executor_->TakeDone(); batch != nullptr;) {
    Batch* const next = batch->next_done;
    FinishBatch(static_cast<ClientBatch&>(*batch));
    batch = next;
  }
}

// Its find may have seen what is being committed: its replies stay here until that has ended.
void Worker::Hold(Client& client, uint64_t commit) {
  // Held already, and the lane has executed another find of it: the later commit is waited for.
  if (client.in_batch) {
    std::erase_if(held_, [&client](const auto& each) { return each.second == &client; });
  }
  client.in_batch = true;
  held_.emplace_back(commit, &client);
}

void Worker::TakeHeld() {
  while (!held_.empty() && context_.commits->HasEnded(held_.front().first)) {
    Client* const client = held_.front().second;
    held_.pop_front();
    ComeBack(*client);
  }
}

void Worker::FinishBatch(ClientBatch& batch) {
  if (batch.turn.is_full()) {
    std::stable_partition(batch.clients.begin(), batch.clients.end(),
                          [](const Client* client) { return client->is_left(); });
  }
  for (Client* client : batch.clients) {
    if (client->turn.loss != Loss::kNone) {
      client->in_batch = false;
      Lose(*client, client->turn.loss);
      continue;
    }
    ConsumeInput(*client);
    if (!client->retired) ComeBack(*client);
  }
  const auto others = static_cast<uint32_t>(batch.turn.size()) - batch.largest;
  if (batch.turn.commit_time() != Turn::kNoCommit) {
    commits_are_cheap_ = batch.turn.commit_time() < kCheapCommit;
    const bool is_short = batch.turn.commit_time() < kShortCommit;
    batches_without_finds_ = is_short ? std::min(batches_without_finds_ + 1, kQuietBatches) : 0;
  }
  batch_others_ = std::max(others, batch_others_ - (batch_others_ + 7) / 8);
  CountRequests(batch.turn.size());
  batch.clients.clear();
  batch.largest = 0;
  batch.turn.Clear();
  free_batches_.push_back(&batch);
  EndAwait();
}

void Worker::ComeBack(Client& client) {
  client.in_batch = false;
  if (client.can_receive) MarkReady(client);
  SendTo(client);
  if (!client.retired) Touch(client);
}

}  // namespace rowsocket::exec
