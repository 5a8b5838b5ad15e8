#include "frontend/memcached_shared.h"

#include <algorithm>

namespace rowsocket::frontend {

// Columns of time hold the server's time of day. The offset is looked up once a minute: it changes
// only then.
int64_t MemcachedShared::UtcOffsetMs() const {
  if (settings.utc_offset_s == nullptr) return 0;
  const int64_t now_s = WallClockMs() / 1000;
  if (utc_offset_minute.load(std::memory_order_relaxed) != now_s / 60) {
    utc_offset_s.store(settings.utc_offset_s(now_s), std::memory_order_relaxed);
    utc_offset_minute.store(now_s / 60, std::memory_order_relaxed);
  }
  return utc_offset_s.load(std::memory_order_relaxed) * 1000;
}

uint64_t MemcachedShared::NextToken(uint64_t old) const {
  const auto now_us = static_cast<uint64_t>(WallClockUs() + UtcOffsetMs() * 1000);
  return std::max(now_us, old + 1);
}

}  // namespace rowsocket::frontend
