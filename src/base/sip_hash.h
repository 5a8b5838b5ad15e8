// SipHash-2-4: a keyed hash of 64 bits. Whoever sees texts and their hashes learns nothing of the
// key from them, nor of other texts (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012).
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rowsocket::base {

struct SipKey {
  uint64_t k0 = 0, k1 = 0;  ///< Little-endian words of the key's 16 bytes.

  /// A key of the system's random generator; empty where that gives none.
  static std::optional<SipKey> Random();
};

uint64_t SipHash(const SipKey& key, std::string_view text);

}  // namespace rowsocket::base
