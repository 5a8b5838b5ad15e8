// What the memcached protocol counts beside exec::Stat: for `stats`, and SHOW GLOBAL STATUS.
//
// Threads: Add from any thread, each mostly in a part of its own; Sum from any.
// Limits: kParts parts; with more threads some share one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rowsocket::frontend {

enum class MemcachedStat : uint8_t {
  kCmdGet,  ///< Keys asked for, not commands.
  kCmdSet,
  kCmdTouch,
  kCmdFlush,
  kCmdMeta,
  kGetHits,
  kGetMisses,
  kGetExpired,  ///< Misses of a row that has expired and is there still.
  kDeleteHits,
  kDeleteMisses,
  kIncrHits,
  kIncrMisses,
  kDecrHits,
  kDecrMisses,
  kCasHits,
  kCasMisses,
  kCasBadval,
  kTouchHits,
  kTouchMisses,
  kSets,         ///< set, add, replace, append, prepend and cas that stored something.
  kPurged,       ///< Expired rows that were removed.
  kErrors,       ///< Replies that are errors.
  kReadsTimed,   ///< Of every kSampleEvery-th request the time from parsing it to its reply:
  kReadMicros,   ///< their sum,
  kWritesTimed,  ///< and those of writes, their commit included.
  kWriteMicros,
  kCount
};

/// Requests of which one is timed.
inline constexpr uint32_t kSampleEvery = 16;

class MemcachedCounters {
 public:
  static constexpr size_t kCounters = static_cast<size_t>(MemcachedStat::kCount);

  void Add(MemcachedStat stat, uint64_t amount = 1) {
    if (amount == 0) return;
    Part()[static_cast<size_t>(stat)].fetch_add(amount, std::memory_order_relaxed);
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

/// Of a sum; 0 where nothing was counted.
constexpr uint64_t Average(uint64_t sum, uint64_t count) { return count == 0 ? 0 : sum / count; }

}  // namespace rowsocket::frontend
