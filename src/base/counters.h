// Counters that many threads write and a few read: each thread counts in its own block, readers add
// the blocks up.
//
// Flow: a CounterRegistry<E> per kind of counters (E: an enum class whose last member is kCount);
//       each worker owns one CounterBlock<E>; SHOW STATUS asks the registry for Sum.
// Threads: Add only from the block's own thread (no locked instruction: single writer); Sum and the
// coming and going of blocks from any thread (mutex).
// Lifetime: the registry outlives its blocks; the counts of a destroyed block stay in the sums.
// Each sum is exact for some moment; the sums of several counters may be of different moments.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace rowsocket::base {

inline constexpr size_t kCacheLineBytes = 64;

template <typename E>
class CounterBlock;

template <typename E>
class CounterRegistry {
 public:
  using Counter = E;
  static constexpr size_t kCounters = static_cast<size_t>(E::kCount);

  CounterRegistry() = default;
  CounterRegistry(const CounterRegistry&) = delete;
  CounterRegistry& operator=(const CounterRegistry&) = delete;

  uint64_t Sum(E counter) const {
    const base::MutexLock lock(mutex_);
    uint64_t sum = retired_[static_cast<size_t>(counter)];
    for (const CounterBlock<E>* block : blocks_) sum += block->Get(counter);
    // Readers add the blocks up one after another. When a unit of a gauge moves from one block to
    // another meanwhile, the sum may come out below zero; readers see 0 then.
    return sum > uint64_t{INT64_MAX} ? 0 : sum;
  }

 private:
  friend class CounterBlock<E>;

  void Enter(const CounterBlock<E>* block) {
    const base::MutexLock lock(mutex_);
    blocks_.push_back(block);
  }
  void Leave(const CounterBlock<E>* block) {
    const base::MutexLock lock(mutex_);
    for (size_t i = 0; i < kCounters; ++i) retired_[i] += block->Get(static_cast<E>(i));
    blocks_.erase(std::find(blocks_.begin(), blocks_.end(), block));
  }

  mutable base::Mutex mutex_;
  std::vector<const CounterBlock<E>*> blocks_ GUARDED_BY(mutex_);
  std::array<uint64_t, kCounters> retired_ GUARDED_BY(mutex_){};
};

/// Aligned to cache lines, so that no two threads write to the same cache line.
template <typename E>
class alignas(kCacheLineBytes) CounterBlock {
 public:
  explicit CounterBlock(CounterRegistry<E>& registry) : registry_(registry) {
    registry_.Enter(this);
  }
  ~CounterBlock() { registry_.Leave(this); }
  CounterBlock(const CounterBlock&) = delete;
  CounterBlock& operator=(const CounterBlock&) = delete;

  void Add(E counter, uint64_t amount = 1) {
    std::atomic<uint64_t>& value = values_[static_cast<size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  /// For gauges, such as open connections: a block may go below zero as long as the sum does not.
  void Subtract(E counter, uint64_t amount = 1) { Add(counter, uint64_t{0} - amount); }

  uint64_t Get(E counter) const {
    return values_[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint64_t>, CounterRegistry<E>::kCounters> values_{};
  CounterRegistry<E>& registry_;
};

}  // namespace rowsocket::base
