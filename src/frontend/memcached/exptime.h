// The exptime of the memcached protocol.
//
// Threads: pure functions.
// Source: memcached's doc/protocol.txt, "Expiration times".
#pragma once

#include "keyspace/time.h"
#include "protocol/memcached/command.h"

namespace rowsocket::frontend {

/// When an item with this exptime expires; an exptime below 0 has expired already.
inline int64_t ExpiryOf(int64_t exptime, int64_t now_ms) {
  if (exptime == 0) return keyspace::kNever;
  if (exptime < 0) return keyspace::SecondsToMs(1);
  if (exptime > memcached::kRelativeExptimeMax) return keyspace::SecondsToMs(exptime);
  return now_ms + keyspace::SecondsToMs(exptime);
}

}  // namespace rowsocket::frontend
