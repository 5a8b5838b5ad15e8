#include "base/latency_histogram.h"

#include <algorithm>

namespace rowsocket::base {

namespace {

constexpr size_t kPerDoubling = size_t{1} << kLatencyBucketBits;

double BeginUs(size_t bucket) { return bucket == 0 ? 0 : LatencyBucketEndUs(bucket - 1); }

}  // namespace

double LatencyBucketEndUs(size_t bucket) {
  if (bucket == 0) return 1;
  if (bucket >= kLatencyBuckets - 1) return 2 * LatencyBucketEndUs(kLatencyBuckets - 2);
  const size_t at = bucket - 1;
  const auto first = static_cast<double>(uint64_t{1} << (at / kPerDoubling));
  return first * (1 + static_cast<double>(at % kPerDoubling + 1) / kPerDoubling);
}

double LatencyCounts::QuantileUs(unsigned permille) const {
  const uint64_t all = count();
  if (all == 0) return 0;
  const uint64_t rank = std::max<uint64_t>(1, (all * permille + 999) / 1000);
  size_t at = 0;
  for (uint64_t seen = buckets[0]; seen < rank; seen += buckets[at]) ++at;
  return (BeginUs(at) + LatencyBucketEndUs(at)) / 2;
}

double LatencyCounts::MaxUs() const {
  for (size_t i = kLatencyBuckets; i-- > 0;) {
    if (buckets[i] != 0) return LatencyBucketEndUs(i);
  }
  return 0;
}

LatencyCounts& LatencyCounts::operator+=(const LatencyCounts& other) {
  for (size_t i = 0; i < kLatencyBuckets; ++i) buckets[i] += other.buckets[i];
  sum_ns += other.sum_ns;
  return *this;
}

LatencyCounts& LatencyCounts::operator-=(const LatencyCounts& before) {
  for (size_t i = 0; i < kLatencyBuckets; ++i) buckets[i] -= before.buckets[i];
  sum_ns -= before.sum_ns;
  return *this;
}

}  // namespace rowsocket::base
