// A hash of the text of a key.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "model/value.h"

namespace rowsocket::exec {

/// Spreads all bits of `bits` over all bits of the result.
inline uint64_t Mix(uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio.
  return bits ^ (bits >> 29);
}

inline uint64_t HashText(uint64_t seed, std::string_view text) {
  uint64_t hash = Mix(seed + text.size());
  for (; text.size() > 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof(word));
    hash = Mix(hash ^ word);
  }
  uint64_t word = 0;
  // That of NULL is no address, not even for nothing.
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return Mix(hash ^ word);
}

inline uint64_t HashKey(uint64_t seed, std::span<const model::Value> key) {
  for (const model::Value& value : key) seed = HashText(seed + value.is_null(), value.text());
  return seed;
}

inline bool SameText(const model::Value& a, const model::Value& b) {
  return a.is_null() == b.is_null() && a.text() == b.text();
}

inline bool SameKey(std::span<const model::Value> a, std::span<const model::Value> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameText(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace rowsocket::exec
