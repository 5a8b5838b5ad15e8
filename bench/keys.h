// Chooses the rows that requests ask for: uniformly, by Zipf's law, or from the first K rows.
//
// Flow: ParseKeys("zipf:0.99") once; a KeyChooser per thread; Next() per key, 1 to rows.
// Threads: one owner; different seeds give different sequences, the same seed the same.
// Cost: no logarithm per key. Zipf keys are drawn beforehand, kDrawnKeys keys, and repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rowsocket::bench {

/// xoshiro256** by Blackman and Vigna, seeded by splitmix64: a nanosecond per number.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  /// An even random number from 0 to below - 1. REQUIRES: below > 0 and below < 2^32.
  uint64_t Below(uint64_t below) { return ((Next() >> 32) * below) >> 32; }
  /// An even random number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_[4];
};

/// Draws ranks 1 to n with probability proportional to 1 / rank^theta, by the method of Gray et
/// al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994).
class Zipf {
 public:
  /// Prepares the distribution, in time proportional to n. REQUIRES: n >= 1, 0 < theta < 1.
  Zipf(uint64_t n, double theta);

  uint64_t Next(Random* random) const;

 private:
  uint64_t n_;
  double theta_;
  double alpha_;
  double zeta_n_;
  double eta_;
};

struct Keys {
  enum class Kind : uint8_t { kUniform, kZipf, kHot };

  Kind kind = Kind::kUniform;
  double theta = 0.99;    ///< kZipf
  uint64_t hot_rows = 0;  ///< kHot: keys are 1 to hot_rows, evenly.
};

/// Parses `uniform`, `zipf`, `zipf:THETA` and `hot:K`; without a value when the text is none of
/// these.
std::optional<Keys> ParseKeys(std::string_view text);

class KeyChooser {
 public:
  static constexpr size_t kDrawnKeys = size_t{1} << 20;

  /// REQUIRES: 1 <= rows < 2^32.
  KeyChooser(const Keys& keys, uint64_t rows, uint64_t seed);

  uint64_t Next() {
    if (drawn_.empty()) return 1 + random_.Below(span_);
    position_ = (position_ + 1) & (kDrawnKeys - 1);
    return drawn_[position_];
  }
  Random* random() { return &random_; }

 private:
  Random random_;
  uint64_t span_;
  std::vector<uint32_t> drawn_;
  size_t position_ = 0;
};

}  // namespace rowsocket::bench
