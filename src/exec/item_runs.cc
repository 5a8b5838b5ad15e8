#include "exec/item_runs.h"

#include <algorithm>
#include <new>

#include "exec/turn.h"

namespace rowsocket::exec {

namespace {

/// `client` where its replies are held, else null.
TurnClient* HeldClient(TurnClient& client) { return client.may_see_undurable ? &client : nullptr; }

/// Whether the items of `client` can be in a run with those of the client before it.
bool AreAlike(const ItemRun& run, TurnClient& client) {
  return client.since_ns == run.since_ns && HeldClient(client) == run.held &&
         client.frontend->account() == run.account;
}

}  // namespace

ItemRun* ItemRuns::Begin(const TurnItem& item) {
  TurnClient& client = *item.client;
  oldest_ns_ = std::min(oldest_ns_, client.since_ns);
  if (lacks_memory_) return nullptr;
  ItemRun run;
  run.since_ns = client.since_ns;
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

// A unit is a run by itself, as is an item that is no request.
void ItemRuns::Take(const Turn& turn, const std::vector<TurnItem>& items) {
  runs_.clear();
  oldest_ns_ = INT64_MAX;
  lacks_memory_ = false;
  ItemRun* run = nullptr;
  const TurnClient* client = nullptr;
  for (const TurnItem& item : items) {
    if (!item.is_finished()) continue;
    const bool goes_on = run != nullptr && run->index != nullptr && run->unit == nullptr &&
                         item.item.kind == Item::Kind::kRequest && item.item.unit == nullptr &&
                         item.item.index == run->index && item.item.verb == run->verb &&
                         (item.client == client || AreAlike(*run, *item.client));
    if (!goes_on) run = Begin(item);
    if (run == nullptr) continue;
    client = item.client;
    ++run->items;
    if (!item.answer.ok()) ++run->errors;
    if (!item.item.request.is_write()) {
      run->rows_read += item.rows;
      continue;
    }
    ++run->writes;
    run->rows_changed += item.rows;
    if (turn.IsMerged(item)) ++run->merged;
  }
}

}  // namespace rowsocket::exec
