#include "base/clock.h"

#include <gtest/gtest.h>

namespace rowsocket::base {
namespace {

TEST(Clock, CountsMillisecondsOfTheMonotonicClock) {
  timespec exact;
  clock_gettime(CLOCK_MONOTONIC, &exact);
  const int64_t exact_ms = int64_t{exact.tv_sec} * 1000 + exact.tv_nsec / 1'000'000;
  const int64_t first_ms = CoarseNowMs();
  // The coarse clock lags by a tick of the kernel, or by many ticks if the host has taken away
  // the processor that does the ticking.
  EXPECT_GE(first_ms, exact_ms - 5000);
  int64_t last_ms = first_ms;
  while (last_ms < first_ms + 20) {  // the clock moves, and only forward
    const int64_t now_ms = CoarseNowMs();
    ASSERT_GE(now_ms, last_ms);
    last_ms = now_ms;
  }
  clock_gettime(CLOCK_MONOTONIC, &exact);
  EXPECT_LE(last_ms, int64_t{exact.tv_sec} * 1000 + exact.tv_nsec / 1'000'000);
}

}  // namespace
}  // namespace rowsocket::base
