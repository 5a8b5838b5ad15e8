// What a thread has counted: requests by outcome, latencies, errors by text, before-images.
//
// Flow: each thread keeps two tallies, one for the measured time and one for what lies outside it
//       (warm-up, and the replies that come after the end); they are added up when all is over.
// Threads: one owner. Limits: kErrorTextsMax texts, kExamplesMax examples; more are counted only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/histogram.h"

namespace rowsocket::bench {

inline constexpr size_t kErrorTextsMax = 32;
inline constexpr size_t kExamplesMax = 3;
inline constexpr size_t kExampleBytesMax = 200;

/// What became of one request.
enum class Verdict : uint8_t {
  kRight,       ///< The reply says what it must.
  kApplied,     ///< The same for a change with a condition: it took place.
  kNotApplied,  ///< The condition did not hold.
  kError,       ///< The server refused, in its own words.
  kMismatch,    ///< Anything else: other content, another count, no reply of this protocol.
};

struct Tally {
  uint64_t requests = 0;
  uint64_t rows = 0;  ///< Rows or keys that right replies spoke of.
  uint64_t applied = 0;
  uint64_t not_applied = 0;
  uint64_t errors = 0;
  uint64_t mismatches = 0;
  Histogram latency_ns;
  std::map<std::string, uint64_t, std::less<>> error_texts;
  std::vector<std::string> mismatch_examples;

  void Count(Verdict verdict, uint64_t rows_of_reply) {
    ++requests;
    if (verdict == Verdict::kError || verdict == Verdict::kMismatch) return;
    rows += rows_of_reply;
    applied += verdict == Verdict::kApplied;
    not_applied += verdict == Verdict::kNotApplied;
  }
  void CountError(std::string_view text);
  void CountMismatch(uint64_t key, std::string_view reply);
  void Merge(const Tally& other);
};

/// The values that successful decrements reported to have found, row by row. No two of one row may
/// be equal, and with a single generator they leave no gap.
class BeforeImages {
 public:
  /// Rows are below 2^24, values below 2^40: one word each.
  static constexpr uint64_t kRowMax = (uint64_t{1} << 24) - 1;
  static constexpr uint64_t kValueMax = (uint64_t{1} << 40) - 1;

  struct Result {
    uint64_t collected = 0;
    uint64_t distinct = 0;
    uint64_t rows = 0;
    uint64_t least = 0;
    uint64_t most = 0;
    bool without_gaps = true;  ///< Each row's values are all integers between its least and most.
  };

  void Add(uint64_t row, uint64_t value) { images_.push_back(row << 40 | (value & kValueMax)); }
  void Merge(const BeforeImages& other);
  /// Sorts what was collected.
  Result Check();

 private:
  std::vector<uint64_t> images_;
};

}  // namespace rowsocket::bench
