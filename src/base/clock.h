// The clocks that timeouts use, and the calendar.
#pragma once

#include <time.h>

#include <cstdint>

namespace rowsocket::base {

/// Milliseconds of a monotonic clock, which is not the calendar's. The clock is coarse: it lags by
/// up to one tick of the kernel (1 to 10 ms), and is cheap enough to ask several times a turn.
inline int64_t CoarseNowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// Nanoseconds of the clock of CoarseNowMs, exact to less than a microsecond.
inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Microseconds of the clock of NowNs.
inline int64_t NowUs() { return NowNs() / 1000; }

/// Seconds since 1970 by the calendar, which somebody may set forward or back.
inline int64_t CalendarSeconds() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

}  // namespace rowsocket::base
