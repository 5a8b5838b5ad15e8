// Time for timeouts.
#pragma once

#include <time.h>

#include <cstdint>

namespace rowsocket::base {

/// Milliseconds of a clock that never goes back and is not the calendar's. Coarse: behind by up to
/// one tick of the kernel (1 to 10 ms), and cheap enough to ask several times a turn.
inline int64_t CoarseNowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// Microseconds of the same clock, exact to less than one.
inline int64_t NowUs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace rowsocket::base
