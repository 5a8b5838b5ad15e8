// The finished items of a turn, grouped into runs. All that is counted of a turn is counted by
// runs: latencies (latency.h), use by table and account (usage.h), slow requests (slow_log.h).
//
// Adjacent items that have the same index, verb, account and times are one run. Counting a turn
// costs one pass over its items, and the rest only once a run: finds that came together are one
// run, however many clients sent them.
//
// Threads: one owner.
// Lifetime: `index`, `account` and `unit` of a run are there until the input of the turn's clients
// is consumed, `held` until clients that have ended are freed (ClientTable).
// Limits: a run for each item at most; if there is no memory for a run, that run and the rest of
// the turn are not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/index.h"
#include "model/account.h"

namespace rowsocket::exec {

struct TurnClient;
struct TurnItem;
struct Unit;
class Turn;

struct ItemRun {
  // What its items have in common:
  int64_t since_ns = 0;        ///< TurnClient::since_ns.
  int64_t lock_ns = 0;         ///< TurnClient::lock_ns; if it is not 0, the run is one item.
  TurnClient* held = nullptr;  ///< The client whose replies are held; null: the replies are sent.
  const model::Account* account = nullptr;
  const engine::Index* index = nullptr;  ///< Null: the items are not requests.
  const Unit* unit = nullptr;            ///< The run is this unit alone.
  uint32_t verb = 0;                     ///< Item::verb.

  uint32_t items = 0;
  uint32_t errors = 0;
  uint32_t writes = 0;
  uint32_t merged = 0;     ///< Writes that shared one change of their row with others.
  uint64_t rows_read = 0;  ///< By the items that do not write.
  uint64_t rows_changed = 0;
};

class ItemRuns {
 public:
  /// Makes the runs of a turn that has run, in place of those of the turn before.
  void Take(const Turn& turn);

  /// TurnClient::since_ns of the turn's oldest item that is finished; INT64_MAX: none is.
  int64_t oldest_ns() const { return oldest_ns_; }
  /// How many items have their final answers. An item after one that waits for a lock runs again.
  size_t finished() const { return finished_; }
  auto begin() const { return runs_.begin(); }
  auto end() const { return runs_.end(); }

 private:
  template <bool kWrites>
  void TakeItems(const Turn& turn);
  ItemRun* Begin(const TurnItem& item);
  void End(ItemRun* run, uint32_t items, uint64_t rows_read);

  std::vector<ItemRun> runs_;
  ItemRun uncounted_;  ///< Stands for each run for which there is no memory.
  int64_t oldest_ns_ = INT64_MAX;
  size_t finished_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace rowsocket::exec
