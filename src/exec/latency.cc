#include "exec/latency.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include "exec/item_runs.h"
#include "exec/turn.h"

namespace rowsocket::exec {

LatencyRegistry::LatencyRegistry(uint32_t verbs, unsigned long* since)
    : verbs_(verbs), since_(since) {
  if (since_ != nullptr)
    __atomic_store_n(since_, static_cast<unsigned long>(time(nullptr)), __ATOMIC_RELAXED);
}

void LatencyRegistry::Enter(const LatencyBlock* block) {
  const base::MutexLock lock(mutex_);
  blocks_.push_back(block);
}

void LatencyRegistry::AddUp(const LatencyBlock& block, Counts* counts) {
  block.ForEach([&](uint32_t verb, Phase phase, const base::LatencyHistogram& histogram) {
    histogram.AddTo(&(*counts)[{block.mode_, verb, phase}]);
  });
}

void LatencyRegistry::Leave(const LatencyBlock* block) {
  const base::MutexLock lock(mutex_);
  std::erase(blocks_, block);
  try {
    AddUp(*block, &retired_);
  } catch (const std::bad_alloc&) {  // What the block has counted is lost.
  }
}

LatencyRegistry::Counts LatencyRegistry::Sum() const {
  Counts counts = retired_;
  for (const LatencyBlock* const block : blocks_) AddUp(*block, &counts);
  return counts;
}

// When several threads see the flush at once, only one of them begins anew.
void LatencyRegistry::BeginAnew() const {
  const base::MutexLock lock(mutex_);
  if (__atomic_load_n(since_, __ATOMIC_RELAXED) != 0) return;
  try {
    flushed_ = Sum();
  } catch (const std::bad_alloc&) {  // The next look tries again.
    return;
  }
  flushes_.fetch_add(1, std::memory_order_relaxed);
  __atomic_store_n(since_, static_cast<unsigned long>(time(nullptr)), __ATOMIC_RELAXED);
}

std::vector<LatencyRow> LatencyRegistry::Read() const {
  LookForFlush();
  const base::MutexLock lock(mutex_);
  std::vector<LatencyRow> rows;
  for (auto& [key, counts] : Sum()) {
    LatencyRow row{std::get<0>(key), std::get<1>(key), std::get<2>(key), counts};
    const auto before = flushed_.find(key);
    if (before != flushed_.end()) row.counts -= before->second;
    if (row.counts.count() != 0) rows.push_back(std::move(row));
  }
  return rows;
}

base::LatencyCounts LatencyRegistry::Whole() const {
  base::LatencyCounts whole;
  for (const LatencyRow& row : Read()) {
    if (row.phase == Phase::kWhole) whole += row.counts;
  }
  return whole;
}

LatencyBlock::LatencyBlock(LatencyRegistry* registry, std::string mode)
    : registry_(registry),
      mode_(std::move(mode)),
      histograms_(registry == nullptr ? 0 : registry->verbs() * kPhases) {
  if (registry_ != nullptr) registry_->Enter(this);
}

LatencyBlock::~LatencyBlock() {
  if (registry_ != nullptr) registry_->Leave(this);
  for (auto& histogram : histograms_) delete histogram.load(std::memory_order_relaxed);
}

template <typename Visit>
void LatencyBlock::ForEach(Visit visit) const {
  for (size_t i = 0; i < histograms_.size(); ++i) {
    const base::LatencyHistogram* const one = histograms_[i].load(std::memory_order_acquire);
    if (one != nullptr)
      visit(static_cast<uint32_t>(i / kPhases), static_cast<Phase>(i % kPhases), *one);
  }
}

void LatencyBlock::Add(uint32_t verb, Phase phase, int64_t ns, uint64_t times) {
  const size_t place = verb * kPhases + static_cast<size_t>(phase);
  if (place >= histograms_.size()) return;
  base::LatencyHistogram* histogram = histograms_[place].load(std::memory_order_relaxed);
  if (histogram == nullptr) [[unlikely]] {
    histogram = new (std::nothrow) base::LatencyHistogram;
    if (histogram == nullptr) return;
    histograms_[place].store(histogram, std::memory_order_release);
  }
  histogram->Add(ns, times);
}

void LatencyBlock::AddItems(const ItemRun& run, uint64_t items, const TurnTimes& times,
                            int64_t sent_ns) {
  Add(run.verb, Phase::kQueue, times.began_ns - run.since_ns - run.lock_ns, items);
  Add(run.verb, Phase::kExecute, times.executed_ns - times.began_ns, items);
  if (times.commits) Add(run.verb, Phase::kCommit, times.ended_ns - times.executed_ns, items);
  if (run.held == nullptr) return Add(run.verb, Phase::kWhole, sent_ns - run.since_ns, items);
  run.held->held_from_ns = times.ended_ns;
  run.held->held_verb = run.verb;
  run.held->held_items += static_cast<uint32_t>(items);
}

void LatencyBlock::AddTurn(const ItemRuns& runs, const TurnTimes& times, int64_t sent_ns) {
  if (registry_ == nullptr) return;
  const ItemRun* first = nullptr;  // The first of adjacent runs with equal times.
  uint64_t items = 0;
  for (const ItemRun& run : runs) {
    if (first != nullptr && (run.verb != first->verb || run.since_ns != first->since_ns ||
                             run.lock_ns != first->lock_ns || run.held != first->held)) {
      AddItems(*first, std::exchange(items, 0), times, sent_ns);
      first = nullptr;
    }
    if (first == nullptr) first = &run;
    items += run.items;
  }
  if (first != nullptr) AddItems(*first, items, times, sent_ns);
}

void LatencyBlock::AddHeld(TurnClient& client, int64_t sent_ns) {
  const uint32_t items = std::exchange(client.held_items, 0);
  if (items == 0) return;
  Add(client.held_verb, Phase::kHeld, sent_ns - client.held_from_ns, items);
  Add(client.held_verb, Phase::kWhole, sent_ns - client.since_ns, items);
}

}  // namespace rowsocket::exec
