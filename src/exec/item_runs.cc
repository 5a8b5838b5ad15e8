#include "exec/item_runs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "exec/turn.h"

namespace rowsocket::exec {

namespace {

/// A time that no client's joins_ns has.
constexpr int64_t kNoTime = INT64_MAX;

/// `client` if its replies are held, otherwise null.
TurnClient* HeldClient(TurnClient& client) { return client.may_see_undurable ? &client : nullptr; }

/// How long the item has waited in the lane, which has handed it back. Later items of its client
/// were in the queue meanwhile.
int64_t LockWaitBefore(const TurnItem& item) {
  return item.input_begin == 0 ? item.client->lock_ns : 0;
}

}  // namespace

ItemRun* ItemRuns::Begin(const TurnItem& item) {
  TurnClient& client = *item.client;
  oldest_ns_ = std::min(oldest_ns_, client.since_ns);
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
  if (!lacks_memory_) {
    try {
      return &runs_.emplace_back(run);
    } catch (const std::bad_alloc&) {
      lacks_memory_ = true;
    }
  }
  uncounted_ = run;
  return &uncounted_;
}

void ItemRuns::Take(const Turn& turn) {
  runs_.clear();
  oldest_ns_ = INT64_MAX;
  finished_ = 0;
  lacks_memory_ = false;
  uncounted_ = {};
  if (turn.writes())
    TakeItems</*kWrites=*/true>(turn);
  else
    TakeItems</*kWrites=*/false>(turn);
}

// A unit, an item that is no request, and an item that the lane has handed back are runs by
// themselves, which no other item joins: `index` is then null, unlike any request's index. The
// values that a find is compared with are local variables, because this loop is most of what
// watching a find costs (adr/0024). The time is kNoTime if the run's client is counted apart:
// only further items of that client join such a run. A turn that only reads is not searched for
// writes.
template <bool kWrites>
void ItemRuns::TakeItems(const Turn& turn) {
  ItemRun* run = &uncounted_;
  const engine::Index* index = nullptr;
  const TurnClient* client = nullptr;  // The client of the run's first item.
  const model::Account* account = nullptr;
  int64_t joins_ns = kNoTime;
  uint32_t verb = 0, count = 0;
  uint64_t rows_read = 0;
  for (const TurnItem& item : turn.items()) {
    if (!item.is_finished()) continue;
    const bool is_alike = item.item.index == index && item.item.verb == verb &&
                          item.item.kind == Item::Kind::kRequest && item.item.unit == nullptr;
    const bool is_of_run =
        is_alike &&
        ((item.client->joins_ns == joins_ns && item.client->frontend->account() == account) ||
         item.client == client);
    if (!is_of_run) [[unlikely]] {
      End(run, std::exchange(count, 0), std::exchange(rows_read, 0));
      run = Begin(item);
      const bool is_joined = run->unit == nullptr && run->lock_ns == 0;
      index = is_joined ? run->index : nullptr;
      verb = item.item.verb;
      client = item.client;
      joins_ns = client->joins_ns == TurnClient::kApart ? kNoTime : client->joins_ns;
      account = client->frontend->account();
    }
    ++count;
    uint64_t rows = item.rows;
    if (!item.answer.ok()) [[unlikely]] {
      ++run->errors;
      rows = 0;  // An item of a batch whose commit failed still has the rows of its execution.
    }
    if (!kWrites || !item.item.request.is_write()) {
      rows_read += rows;
      continue;
    }
    ++run->writes;
    run->rows_changed += rows;
    if (turn.IsMerged(item)) ++run->merged;
  }
  End(run, count, rows_read);
}

void ItemRuns::End(ItemRun* run, uint32_t items, uint64_t rows_read) {
  finished_ += items;
  run->items = items;
  run->rows_read = rows_read;
}

}  // namespace rowsocket::exec
