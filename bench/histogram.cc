#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rowsocket::bench {
namespace {

constexpr uint64_t kLinear = uint64_t{1} << Histogram::kLinearBits;
constexpr uint64_t kHalf = kLinear / 2;
constexpr size_t kCounters = (Histogram::kValueBits - Histogram::kLinearBits) * kHalf + kLinear;
// The number of counters that ForEach joins into one: 64 of 1,024 in each doubling remain.
constexpr size_t kJoined = 16;

}  // namespace

Histogram::Histogram() : counters_(kCounters) {}

size_t Histogram::IndexOf(uint64_t value) {
  if (value < kLinear) return value;
  const unsigned shift = std::bit_width(value) - kLinearBits;
  return shift * kHalf + (value >> shift);
}

uint64_t Histogram::UpperEnd(size_t index) {
  if (index < kLinear) return index;
  const size_t shift = index / kHalf - 1;
  const uint64_t top = index - shift * kHalf;
  return ((top + 1) << shift) - 1;
}

void Histogram::Record(uint64_t value) {
  ++counters_[IndexOf(std::min(value, kValueMax))];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kCounters; ++i) counters_[i] += other.counters_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::Percentile(double percent) const {
  // 99.9 has no exact binary form: without the margin the result would at times be one value too
  // high.
  const double wanted = std::ceil(percent / 100 * static_cast<double>(count_) - 1e-6);
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t i = 0; i < kCounters; ++i) {
    seen += counters_[i];
    if (seen >= rank) return std::min(UpperEnd(i), max_);
  }
  return max_;
}

void Histogram::ForEach(const std::function<void(uint64_t value, uint64_t count)>& visit) const {
  for (size_t first = 0; first < kCounters; first += kJoined) {
    uint64_t sum = 0;
    for (size_t i = first; i < first + kJoined; ++i) sum += counters_[i];
    if (sum != 0) visit(std::min(UpperEnd(first + kJoined - 1), max_), sum);
  }
}

}  // namespace rowsocket::bench
