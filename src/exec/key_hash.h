// Hashes of what clients send, for tables in memory.
//
// A secret of the process is in each hash, so that no client can choose keys with equal hashes: a
// table of such keys would be searched from end to end for each key.
//
// Threads: any. Multiplying, and joining both halves of the product, is learned from wyhash (Wang
// Yi, 2019).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace rowsocket::exec {

struct HashSecret {
  uint64_t mask;
  uint64_t factor;  ///< An odd number, so that no bit of a product is lost.

  static HashSecret Random();
};
/// The secret of this process. It is made when the library is loaded, and not used before that.
extern const HashSecret kHashSecret;

/// Spreads all bits of `bits` over all bits of the result.
inline uint64_t Mix(uint64_t bits) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(bits ^ kHashSecret.mask) * kHashSecret.factor;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashText(uint64_t seed, std::string_view text) {
  uint64_t hash = Mix(seed + text.size());
  for (; text.size() > 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof(word));
    hash = Mix(hash ^ word);
  }
  uint64_t word = 0;
  // The text of NULL has no address, which memcpy must not be given even for 0 bytes.
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return Mix(hash ^ word);
}

/// The hash of the standard library's tables of texts.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return HashText(0, text); }
};

}  // namespace rowsocket::exec
