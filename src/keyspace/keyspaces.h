// The keyspaces of a server, which the frontends of all protocols share: the catalog, the clock of
// expiry, the cas of the next change, and when the next delayed flush is due.
//
// Threads: all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/no_housekeeping.h"
#include "keyspace/catalog.h"
#include "keyspace/time.h"

namespace rowsocket::keyspace {

struct KeyspacesSettings {
  std::function<void(const std::string&)> log;
  /// By how many seconds the server's time zone is ahead of UTC at a moment. Null: 0.
  std::function<int64_t(int64_t unix_s)> utc_offset_s;
  /// Why the housekeeper may not change anything now: this server is a replica, or not the node of
  /// its cluster that does the work. Null: it always may.
  std::function<engine::NoHousekeeping()> why_no_housekeeping;
};

class Keyspaces {
 public:
  explicit Keyspaces(KeyspacesSettings settings)
      : catalog(settings.log), log(settings.log), settings_(std::move(settings)) {}

  /// The present time by the clock of expiry, in milliseconds since 1970.
  int64_t NowMs() const {
    const std::atomic<int64_t>* const offset_ms = clock_offset_ms_.load(std::memory_order_relaxed);
    return WallClockMs() + (offset_ms != nullptr ? offset_ms->load(std::memory_order_relaxed) : 0);
  }
  /// For tests of expiry: what NowMs adds to the clock.
  /// Lifetime: as long as this object.
  void SetClockOffset(const std::atomic<int64_t>* ms) { clock_offset_ms_ = ms; }
  /// How much the server's time of day is ahead of UTC.
  int64_t UtcOffsetMs() const;
  /// A cas that is later than `old`: microseconds of the server's time of day, as the column holds
  /// them. After the largest cas it is the clock's time again, because items that have the largest
  /// cas could otherwise never be changed.
  uint64_t NextCas(uint64_t old, uint64_t largest) const;
  /// The largest cas that the container's column can hold. REQUIRES: the container has a cas
  /// column.
  uint64_t LargestCas(const Container& container) const;
  /// Makes the housekeeper look at delayed flushes at this time.
  void FlushIsDueAt(int64_t at_ms) {
    int64_t next = next_flush_ms_.load();
    while (at_ms < next && !next_flush_ms_.compare_exchange_weak(next, at_ms)) {
    }
  }
  int64_t next_flush_ms() const { return next_flush_ms_.load(); }
  /// Forgets when the next flush is due. The housekeeper then looks at all containers, which notes
  /// it anew.
  void ForgetFlushes() { next_flush_ms_.store(kNever); }

  engine::NoHousekeeping WhyNoHousekeeping() const {
    return settings_.why_no_housekeeping != nullptr ? settings_.why_no_housekeeping()
                                                    : engine::NoHousekeeping();
  }

  Catalog catalog;
  const std::function<void(const std::string&)> log;

 private:
  const KeyspacesSettings settings_;
  std::atomic<const std::atomic<int64_t>*> clock_offset_ms_{nullptr};
  std::atomic<int64_t> next_flush_ms_{kNever};  ///< The earliest flush to come.
  /// By how much the server's time of day is ahead of UTC, as found in utc_offset_minute_.
  mutable std::atomic<int64_t> utc_offset_s_{0};
  /// By how much it will be ahead at the moment when TIMESTAMP ends, as found in
  /// utc_offset_minute_.
  mutable std::atomic<int64_t> utc_offset_at_max_s_{0};
  mutable std::atomic<int64_t> utc_offset_minute_{-1};
};

}  // namespace rowsocket::keyspace
