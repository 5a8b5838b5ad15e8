#include "frontend/memcached_housekeeper.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "frontend/memcached_flush.h"
#include "frontend/memcached_row.h"

namespace rowsocket::frontend {

using containers::Container;
using engine::Outcome;
using model::CompareOp;

namespace {

class NoRows final : public model::RowSink {
 public:
  bool Cell(std::string_view) override { return true; }
  bool NullCell() override { return true; }
};

/// Deletes a row that has expired still.
class PurgeEditor final : public model::RowEditor {
 public:
  PurgeEditor(const Container& container, int64_t now_ms)
      : container_(container), now_ms_(now_ms) {}

  model::Decision Decide(std::span<const model::Value> row,
                         std::span<const model::CellChange>*) override {
    if (row.empty()) return model::Decision::kKeep;
    const bool expired = ExpiryFromCell(row[container_.rows_layout.expiry]) <= now_ms_;
    return expired ? model::Decision::kDelete : model::Decision::kKeep;
  }

 private:
  const Container& container_;
  const int64_t now_ms_;
};

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

void MemcachedHousekeeper::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (session_ != nullptr) session_->Interrupt();
  }
  wake_.notify_all();
  thread_.join();
}

void MemcachedHousekeeper::Main() {
  const std::unique_ptr<engine::Session> session = sessions_.Create(engine::LockWait::kNever);
  if (session == nullptr) return;
  session->Describe("mode=housekeeping");
  std::unique_lock lock(mutex_);
  session_ = session.get();
  while (!stopping_ && !session->ShouldStop()) {
    lock.unlock();
    const bool has_more = RunOnce(*session);
    session->ReleaseTables();
    lock.lock();
    const int64_t until_flush_ms = shared_.next_flush_ms.load() - shared_.NowMs();
    const int64_t wait_ms = std::clamp<int64_t>(
        until_flush_ms, 1, has_more ? model::kPurgeTickMs : model::kPurgeIdleMs);
    if (!stopping_) wake_.wait_for(lock, std::chrono::milliseconds(wait_ms));
  }
  session_ = nullptr;
}

bool MemcachedHousekeeper::RunOnce(engine::Session& session) {
  shared_.catalog.Refresh(session);
  const auto snapshot = shared_.catalog.current();
  shared_.next_flush_ms.store(kNever);
  bool has_more = false;
  for (const auto& container : snapshot->containers) {
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
  std::vector<FoundKey> expired;
  const bool has_more = FindExpired(session, container, &expired);
  if (expired.empty()) return has_more;
  const size_t deleted = Delete(session, container, expired);
  container.state->counters.purged.fetch_add(deleted, std::memory_order_relaxed);
  shared_.counters.Add(MemcachedStat::kPurged, deleted);
  return has_more && deleted != 0;
}

// True when there may be more than was found.
bool MemcachedHousekeeper::FindExpired(engine::Session& session, const Container& container,
                                       std::vector<FoundKey>* expired) {
  const size_t chunk =
      std::max<size_t>(1, rows_per_second_ * static_cast<size_t>(model::kPurgeTickMs) / 1000);
  const bool by_expiry = container.expiring != nullptr;
  static constexpr model::Value kZero{std::string_view("0")};
  model::Request request;
  std::vector<model::Value> key;
  const auto scanned_to = scanned_to_.find(container.name());
  if (by_expiry)
    key.push_back(kZero);
  else if (scanned_to != scanned_to_.end())
    key = scanned_to->second.Values();
  request.find.op = key.empty() ? CompareOp::kGe : CompareOp::kGt;
  request.find.key = key;
  request.find.key_parts_given = static_cast<uint32_t>(key.size());
  request.find.limit = by_expiry ? chunk : model::kPurgeScanRows;
  KeyCollector found(container);
  session.BeginTurn(false);
  const Outcome outcome =
      session.Execute(by_expiry ? *container.expiring : *container.keys, request, found);
  if (!EndTurn(session, outcome)) {
    scanned_to_.erase(container.name());
    return false;
  }
  const int64_t now_ms = shared_.NowMs();
  const bool is_full = found.rows.size() == request.find.limit;
  bool stopped_early = false;
  for (FoundKey& row : found.rows) {
    const model::Value cell =
        row.expiry ? model::Value(std::string_view(*row.expiry)) : model::Value();
    const bool has_expired = ExpiryFromCell(cell) <= now_ms;
    if (!by_expiry) scanned_to_[container.name()] = row;
    if (has_expired && !row.has_null()) expired->push_back(std::move(row));
    stopped_early = by_expiry ? !has_expired : expired->size() == chunk;
    if (stopped_early) break;
  }
  if (!by_expiry && !is_full && !stopped_early) scanned_to_.erase(container.name());
  return by_expiry ? is_full && !stopped_early : is_full || stopped_early;
}

size_t MemcachedHousekeeper::Delete(engine::Session& session, const Container& container,
                                    const std::vector<FoundKey>& expired) {
  NoRows none;
  PurgeEditor editor(container, shared_.NowMs());
  size_t deleted = 0;
  Outcome outcome;
  session.BeginTurn(true);
  for (const FoundKey& row : expired) {
    const std::vector<model::Value> key = row.Values();
    model::Request request;
    request.verb = model::Request::Verb::kEdit;
    request.edit.key = key;
    request.edit.editor = &editor;
    const Outcome one = session.Execute(*container.rows, request, none);
    if (one.transaction_lost) {
      session.Rollback();
      return 0;
    }
    if (one.ok())
      deleted += one.rows;
    else if (!one.busy)
      break;  // Read only, full, gone: the next round sees.
  }
  return session.Commit().ok() ? deleted : 0;
}

}  // namespace rowsocket::frontend
