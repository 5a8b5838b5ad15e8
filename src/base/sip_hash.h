// SipHash-2-4: a keyed hash of 64 bits. Texts and their hashes tell nothing about the key, or about
// other texts (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012).
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rowsocket::base {

struct SipKey {
  uint64_t k0 = 0, k1 = 0;  ///< Little-endian words of the key's 16 bytes.

  /// A key from the system's random generator; without a value if that gives none.
  static std::optional<SipKey> Random();
};

uint64_t SipHash(const SipKey& key, std::string_view text);

}  // namespace rowsocket::base
