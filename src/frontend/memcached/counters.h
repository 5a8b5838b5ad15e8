// What the memcached protocol counts besides exec::Stat: for `stats`, and SHOW GLOBAL STATUS.
//
// Threads: Add from any thread, each mostly in a part of its own; Sum from any.
// Limits: kParts parts; with more threads some share one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/counter_info.h"

namespace rowsocket::frontend {

/// The counters of layer `frontend/memcached` in spec/counters.tsv.
enum class MemcachedStat : uint8_t {
#define ROWSOCKET_COUNTER(constant, ...) constant,
#include "frontend/memcached/counters.inc"
  kCount
};

/// Ordered by MemcachedStat.
inline constexpr base::CounterInfo kMemcachedStatInfo[] = {
#define ROWSOCKET_COUNTER(constant, name, type, plugins, stats) \
  {name, base::CounterType::type, plugins, stats},
#include "frontend/memcached/counters.inc"
};
static_assert(std::size(kMemcachedStatInfo) == static_cast<size_t>(MemcachedStat::kCount));

class MemcachedCounters {
 public:
  using Counter = MemcachedStat;
  static constexpr size_t kCounters = static_cast<size_t>(MemcachedStat::kCount);

  void Add(MemcachedStat stat, uint64_t amount = 1) {
    if (amount == 0) return;
    Part()[static_cast<size_t>(stat)].fetch_add(amount, std::memory_order_relaxed);
  }
  /// Sets a gauge: a counter that is worked out when a client asks for it.
  void Set(MemcachedStat stat, uint64_t value) {
    parts_[0].values[static_cast<size_t>(stat)].store(value, std::memory_order_relaxed);
  }
  uint64_t Sum(MemcachedStat stat) const {
    uint64_t sum = 0;
    for (const auto& part : parts_) {
      sum += part.values[static_cast<size_t>(stat)].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  static constexpr size_t kParts = 16;
  using Values = std::array<std::atomic<uint64_t>, kCounters>;
  struct alignas(64) Padded {
    Values values{};
  };

  Values& Part() {
    static std::atomic<size_t> next{0};
    thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kParts;
    return parts_[mine].values;
  }

  std::array<Padded, kParts> parts_;
};

}  // namespace rowsocket::frontend
