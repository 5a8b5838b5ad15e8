#include "frontend/memcached/shared.h"

#include <algorithm>

namespace rowsocket::frontend {

namespace {

constexpr int64_t kTimestampMaxS = INT32_MAX;

}  // namespace

// Columns of time hold the server's time of day. The offset to UTC is looked up once a minute, as
// it changes only at full minutes.
int64_t MemcachedShared::UtcOffsetMs() const {
  if (settings.utc_offset_s == nullptr) return 0;
  const int64_t now_s = WallClockMs() / 1000;
  if (utc_offset_minute.load(std::memory_order_relaxed) != now_s / 60) {
    utc_offset_s.store(settings.utc_offset_s(now_s), std::memory_order_relaxed);
    utc_offset_at_max_s.store(settings.utc_offset_s(kTimestampMaxS), std::memory_order_relaxed);
    utc_offset_minute.store(now_s / 60, std::memory_order_relaxed);
  }
  return utc_offset_s.load(std::memory_order_relaxed) * 1000;
}

uint64_t MemcachedShared::NextToken(uint64_t old, uint64_t largest) const {
  const auto now_us = static_cast<uint64_t>(WallClockUs() + UtcOffsetMs() * 1000);
  return old < largest ? std::max(now_us, old + 1) : now_us;
}

uint64_t MemcachedShared::LargestToken(const containers::Container& container) const {
  if (!container.token_max_is_utc) return container.token_max;
  UtcOffsetMs();  // Brings the offset at the end of TIMESTAMP up to date as well.
  const int64_t ahead_us = utc_offset_at_max_s.load(std::memory_order_relaxed) * 1'000'000;
  return static_cast<uint64_t>(static_cast<int64_t>(container.token_max) + ahead_us);
}

}  // namespace rowsocket::frontend
