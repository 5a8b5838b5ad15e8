#include "exec/item_runs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "exec/turn.h"

namespace rowsocket::exec {

namespace {

/// No client's since_ns.
constexpr int64_t kNoTime = INT64_MIN;

/// `client` where its replies are held, else null.
TurnClient* HeldClient(TurnClient& client) { return client.may_see_undurable ? &client : nullptr; }

/// How long the item has waited in the lane, which has handed it back. Items of its client that
/// stand behind it were in the queue meanwhile.
int64_t LockWaitBefore(const TurnItem& item) {
  return item.input_begin == 0 ? item.client->lock_ns : 0;
}

}  // namespace

ItemRun* ItemRuns::Begin(const TurnItem& item) {
  TurnClient& client = *item.client;
  oldest_ns_ = std::min(oldest_ns_, client.since_ns);
  if (lacks_memory_) return nullptr;
  ItemRun run;
  run.since_ns = client.since_ns;
  run.lock_ns = LockWaitBefore(item);
  run.held = HeldClient(client);
  run.account = client.frontend->account();
  run.verb = item.item.verb;
  if (item.item.kind == Item::Kind::kRequest) {
    run.index = item.item.index;
    run.unit = item.item.unit;
  }
  try {
    return &runs_.emplace_back(run);
  } catch (const std::bad_alloc&) {
    lacks_memory_ = true;
    return nullptr;
  }
}

// A unit is a run by itself, as are an item that is no request and one that the lane has handed
// back, and nobody joins them: `index` is null then, which no request's index is. What a find is
// compared with is in local variables, because this loop is most of what watching a find costs
// (adr/0024): kNoTime where the client of the run has held replies, which no other client's items
// may join.
void ItemRuns::Take(const Turn& turn, const std::vector<TurnItem>& items) {
  runs_.clear();
  oldest_ns_ = INT64_MAX;
  finished_ = 0;
  lacks_memory_ = false;
  ItemRun* run = nullptr;
  const engine::Index* index = nullptr;
  const TurnClient* client = nullptr;
  const model::Account* account = nullptr;
  int64_t since_ns = 0;
  uint32_t verb = 0, count = 0;
  uint64_t rows_read = 0;
  for (const TurnItem& item : items) {
    if (!item.is_finished()) continue;
    const bool is_of_run =
        item.item.index == index && item.item.verb == verb &&
        item.item.kind == Item::Kind::kRequest && item.item.unit == nullptr &&
        (item.client == client ||
         (item.client->since_ns == since_ns && !item.client->may_see_undurable &&
          item.client->lock_ns == 0 && item.client->frontend->account() == account));
    if (!is_of_run) [[unlikely]] {
      End(run, std::exchange(count, 0), std::exchange(rows_read, 0));
      run = Begin(item);
      const bool is_joined = run != nullptr && run->unit == nullptr && run->lock_ns == 0;
      index = is_joined ? run->index : nullptr;
      verb = item.item.verb;
      since_ns = HeldClient(*item.client) == nullptr ? item.client->since_ns : kNoTime;
      account = item.client->frontend->account();
    }
    client = item.client;
    ++count;
    if (item.answer.ok() && !item.item.request.is_write()) [[likely]] {
      rows_read += item.rows;
      continue;
    }
    if (run != nullptr) AddOther(turn, item, run);
  }
  End(run, count, rows_read);
}

void ItemRuns::End(ItemRun* run, uint32_t items, uint64_t rows_read) {
  finished_ += items;
  if (run == nullptr) return;
  run->items = items;
  run->rows_read += rows_read;
}

// A write, or what has failed.
void ItemRuns::AddOther(const Turn& turn, const TurnItem& item, ItemRun* run) {
  const bool is_done = item.answer.ok();
  if (!is_done) ++run->errors;
  if (!item.item.request.is_write()) {
    if (is_done) run->rows_read += item.rows;
    return;
  }
  ++run->writes;
  // An item of a batch whose commit failed has the rows of its execution still.
  if (is_done) run->rows_changed += item.rows;
  if (turn.IsMerged(item)) ++run->merged;
}

}  // namespace rowsocket::exec
