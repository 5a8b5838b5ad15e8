// Counts latencies, and returns any percentile of them later, within 0.1 % of the value.
//
// The layout is HdrHistogram's, by Gil Tene: counters are linear up to 2,048 and then double their
// width with every power of two, which keeps three significant digits at any size.
//
// Threads: one owner; threads that measure keep one histogram each and Merge at the end.
// Limits: values above kValueMax count as kValueMax (18 minutes when they are nanoseconds); max()
//         and mean() are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace rowsocket::bench {

class Histogram {
 public:
  static constexpr unsigned kLinearBits = 11;
  static constexpr unsigned kValueBits = 40;
  static constexpr uint64_t kValueMax = (uint64_t{1} << kValueBits) - 1;

  Histogram();

  void Record(uint64_t value);
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const;

  /// The smallest recorded value that at least `percent` percent of all values do not exceed, as
  /// the upper end of its counter; 0 without values.
  uint64_t Percentile(double percent) const;

  /// Calls visit(upper end, count) in ascending order; counters are joined to about two significant
  /// digits, so that the shape of a run is a short list.
  void ForEach(const std::function<void(uint64_t value, uint64_t count)>& visit) const;

 private:
  static size_t IndexOf(uint64_t value);
  static uint64_t UpperEnd(size_t index);

  std::vector<uint64_t> counters_;
  uint64_t count_ = 0;
  uint64_t max_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace rowsocket::bench
