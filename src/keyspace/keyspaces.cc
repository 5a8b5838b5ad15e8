#include "keyspace/keyspaces.h"

#include <algorithm>

#include "base/require.h"

namespace rowsocket::keyspace {

namespace {

constexpr int64_t kTimestampMaxS = INT32_MAX;

}  // namespace

// Columns of time hold the server's time of day. The offset to UTC is looked up once a minute,
// because it changes only at full minutes.
int64_t Keyspaces::UtcOffsetMs() const {
  if (settings_.utc_offset_s == nullptr) return 0;
  const int64_t now_s = WallClockMs() / 1000;
  if (utc_offset_minute_.load(std::memory_order_acquire) != now_s / 60) {
    utc_offset_s_.store(settings_.utc_offset_s(now_s), std::memory_order_relaxed);
    utc_offset_at_max_s_.store(settings_.utc_offset_s(kTimestampMaxS), std::memory_order_relaxed);
    utc_offset_minute_.store(now_s / 60, std::memory_order_release);
  }
  return utc_offset_s_.load(std::memory_order_relaxed) * 1000;
}

uint64_t Keyspaces::NextCas(uint64_t old, uint64_t largest) const {
  const auto now_us = static_cast<uint64_t>(WallClockUs() + UtcOffsetMs() * 1000);
  return old < largest ? std::max(now_us, old + 1) : now_us;
}

uint64_t Keyspaces::LargestCas(const Container& container) const {
  ROWSOCKET_REQUIRE(container.cas_kind != CasKind::kHash);
  if (!container.cas_max_is_utc) return container.cas_max;
  UtcOffsetMs();  // Updates the offset at the end of TIMESTAMP as well.
  const int64_t ahead_us = utc_offset_at_max_s_.load(std::memory_order_relaxed) * 1'000'000;
  return static_cast<uint64_t>(static_cast<int64_t>(container.cas_max) + ahead_us);
}

}  // namespace rowsocket::keyspace
