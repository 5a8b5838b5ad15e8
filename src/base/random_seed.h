// A seed for generators of random numbers that need not be secret.
//
// Threads: any.
#pragma once

#include <sys/random.h>

#include <cstdint>

#include "base/clock.h"

namespace rowsocket::base {

/// Random bits. Unlike std::random_device, the function never throws: if the system gives no random
/// bytes, the bits come from the time and from the place of the caller's stack.
inline uint64_t RandomSeed() noexcept {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof(seed)) == 0) return seed;
  return static_cast<uint64_t>(NowNs()) ^ reinterpret_cast<uintptr_t>(&seed);
}

}  // namespace rowsocket::base
