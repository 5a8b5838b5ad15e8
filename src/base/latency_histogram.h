// How often each length of time has occurred: from 1 us to 134 s, within 3.2 % of the length.
//
// Each doubling of the time has 16 buckets of equal width, as in HdrHistogram
// (https://hdrhistogram.github.io/HdrHistogram/, Gil Tene), with few digits. Bounds are whole
// sixteenths of 1, 2, 4 ... us, so that every power of two microseconds is a bound.
//
// Threads: Add from one thread; readers (AddTo) from any. No locked instruction.
// Limits: shorter times are in the first bucket, longer ones in the last.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rowsocket::base {

inline constexpr unsigned kLatencyDoublings = 27;
inline constexpr unsigned kLatencyBucketBits = 4;
inline constexpr size_t kLatencyBuckets = (size_t{kLatencyDoublings} << kLatencyBucketBits) + 2;

/// The bucket of a length of time; a negative one counts as 0.
inline size_t LatencyBucket(int64_t ns) {
  constexpr unsigned kFirstBit = 10;
  // In 1,024ths of a microsecond: ns * 1.024. All times beyond the last doubling are in one bucket.
  constexpr int64_t kNsMax = (int64_t{1} << (kLatencyDoublings + kFirstBit)) * 125 / 128;
  const uint64_t units = static_cast<uint64_t>(std::clamp<int64_t>(ns, 0, kNsMax)) * 128 / 125;
  if (units >> kFirstBit == 0) return 0;
  const unsigned bit = static_cast<unsigned>(std::bit_width(units)) - 1;
  // The shifted number still has its leading bit, which counts for one doubling.
  return ((size_t{bit} - kFirstBit - 1) << kLatencyBucketBits) +
         (units >> (bit - kLatencyBucketBits)) + 1;
}

/// Where a bucket ends, in microseconds; its times are shorter. For the last bucket, which has no
/// end, returns twice its beginning, so that ends rise from bucket to bucket.
double LatencyBucketEndUs(size_t bucket);

/// The sums of histograms.
struct LatencyCounts {
  std::array<uint64_t, kLatencyBuckets> buckets{};
  uint64_t sum_ns = 0;

  uint64_t count() const {
    uint64_t count = 0;
    for (const uint64_t bucket : buckets) count += bucket;
    return count;
  }
  /// The middle of the bucket that `permille` of the times do not exceed, in microseconds; 0 if
  /// nothing was counted.
  double QuantileUs(unsigned permille) const;
  /// The end of the last bucket with a time in it.
  double MaxUs() const;

  LatencyCounts& operator+=(const LatencyCounts& other);
  /// Subtracts `before`, an earlier state of the same counts.
  LatencyCounts& operator-=(const LatencyCounts& before);
};

class LatencyHistogram {
 public:
  LatencyHistogram() = default;
  LatencyHistogram(const LatencyHistogram&) = delete;
  LatencyHistogram& operator=(const LatencyHistogram&) = delete;

  /// Counts `times` lengths of `ns` nanoseconds each.
  void Add(int64_t ns, uint64_t times) {
    Raise(buckets_[LatencyBucket(ns)], times);
    Raise(sum_ns_, static_cast<uint64_t>(std::max<int64_t>(ns, 0)) * times);
  }
  /// Adds the counts to `*counts`. They are of about one moment: an Add meanwhile may be in some
  /// and not in others.
  void AddTo(LatencyCounts* counts) const {
    for (size_t i = 0; i < kLatencyBuckets; ++i) {
      counts->buckets[i] += buckets_[i].load(std::memory_order_relaxed);
    }
    counts->sum_ns += sum_ns_.load(std::memory_order_relaxed);
  }

 private:
  static void Raise(std::atomic<uint64_t>& value, uint64_t by) {
    value.store(value.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kLatencyBuckets> buckets_{};
  std::atomic<uint64_t> sum_ns_{0};
};

}  // namespace rowsocket::base
