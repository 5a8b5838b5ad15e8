// The counts of a thread: requests by outcome, latencies, errors by text, before-images.
//
// Flow: each thread keeps two tallies, one for the measured time and one for the time outside it
// (warm-up, and the replies that come after the end); the tallies are added up at the end of the
// run.
// Threads: one owner.
// Limits: kErrorTextsMax texts, kExamplesMax examples; further texts and examples are only counted.
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

/// The outcome of one request.
enum class Verdict : uint8_t {
  kRight,       ///< The reply is as expected.
  kApplied,     ///< The reply is as expected, and a change with a condition took place.
  kNotApplied,  ///< The reply is as expected, and the condition of the change did not hold.
  kError,       ///< The reply is an error of the server.
  kMismatch,    ///< Any other reply: other content, another count, no reply of this protocol.
};

struct Tally {
  uint64_t requests = 0;
  uint64_t rows = 0;  ///< The number of rows or keys in right replies.
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

/// The before-images of successful decrements, row by row. No two values of one row may be equal,
/// and with a single generator the values have no gap.
class BeforeImages {
 public:
  /// Rows are below 2^24 and values below 2^40, so that both fit into one word.
  static constexpr uint64_t kRowMax = (uint64_t{1} << 24) - 1;
  static constexpr uint64_t kValueMax = (uint64_t{1} << 40) - 1;

  struct Result {
    uint64_t collected = 0;
    uint64_t distinct = 0;
    uint64_t rows = 0;
    uint64_t least = 0;
    uint64_t most = 0;
    bool without_gaps = true;  ///< The values of each row are all integers between its least and
                               ///< its greatest value.
  };

  void Add(uint64_t row, uint64_t value) { images_.push_back(row << 40 | (value & kValueMax)); }
  void Merge(const BeforeImages& other);
  /// Sorts the collected values.
  Result Check();

 private:
  std::vector<uint64_t> images_;
};

}  // namespace rowsocket::bench
