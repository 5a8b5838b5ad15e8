// State that all connections of a memcached port share.
//
// Threads: all; settings do not change once the port runs; the rest is atomic or has a mutex.
// Lifetime: outlives the port's connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "exec/stats.h"
#include "frontend/memcached/containers/catalog.h"
#include "frontend/memcached/counters.h"
#include "frontend/memcached/details.h"
#include "frontend/memcached/marks.h"
#include "frontend/memcached/time.h"
#include "model/account.h"
#include "model/health.h"
#include "model/limits.h"

namespace rowsocket::frontend {

struct MemcachedSettings {
  model::Limits limits;
  bool may_flush = false;
  bool accounts = false;  ///< Clients have to log in with an account of the server.
  /// The account of connections that have no other one; null: they may do everything.
  std::shared_ptr<const model::Account> account;
  std::string version;
  unsigned threads = 1;
  uint16_t port = 0;
  std::string socket;
  std::string address;
  unsigned backlog = 0;
  /// How many seconds the server's time zone is ahead of UTC at a time. Null: 0.
  std::function<int64_t(int64_t unix_s)> utc_offset_s;
  /// Why the housekeeper may change nothing now, with the variable to set; empty: it may. Null: it
  /// always may.
  std::function<std::string_view()> keeps_no_house;
  /// What the server says of itself. Null: a primary that takes everything.
  std::function<model::Health()> health;
  /// For tests of expiry: how much the clock is ahead. Null: not at all.
  const std::atomic<int64_t>* clock_offset_ms = nullptr;
};

struct MemcachedShared {
  MemcachedShared(MemcachedSettings given, const exec::StatRegistry& stats,
                  std::function<void(const std::string&)> log)
      : settings(std::move(given)), log(std::move(log)), catalog(this->log), exec_stats(stats) {}

  /// The time that expiry is compared with.
  int64_t NowMs() const {
    const std::atomic<int64_t>* ahead = settings.clock_offset_ms;
    return WallClockMs() + (ahead != nullptr ? ahead->load(std::memory_order_relaxed) : 0);
  }
  /// A token that is later than `old`: microseconds of the server's time of day, as the column has
  /// them. Behind the largest token it is the clock's time again: otherwise no item could be
  /// changed any more.
  uint64_t NextToken(uint64_t old, uint64_t largest) const;
  /// REQUIRES: the container has a cas column.
  uint64_t LargestToken(const containers::Container& container) const;
  int64_t UtcOffsetMs() const;
  /// Makes the housekeeper look at flushes at this time.
  void FlushIsDueAt(int64_t at_ms) {
    int64_t next = next_flush_ms.load();
    while (at_ms < next && !next_flush_ms.compare_exchange_weak(next, at_ms)) {
    }
  }

  /// Why the housekeeper may change nothing now, since its changes would be this server's alone;
  /// empty: it may.
  std::string_view WhyNoHousekeeping() const {
    return settings.keeps_no_house != nullptr ? settings.keeps_no_house() : std::string_view();
  }

  const MemcachedSettings settings;
  const std::function<void(const std::string&)> log;
  containers::Catalog catalog;
  MemcachedMarks marks;
  MemcachedCounters counters;
  MemcachedDetails details;
  const exec::StatRegistry& exec_stats;
  const int64_t started_ms = WallClockMs();
  std::atomic<int64_t> next_flush_ms{kNever};           ///< The earliest flush to come.
  std::atomic<uint64_t> next_serial{1};                 ///< Of requests that may win a mark.
  mutable std::atomic<int64_t> utc_offset_s{0};         ///< As of utc_offset_minute.
  mutable std::atomic<int64_t> utc_offset_at_max_s{0};  ///< When TIMESTAMP ends; as of that minute.
  mutable std::atomic<int64_t> utc_offset_minute{-1};

  /// The values of the counters at the last `stats reset`.
  mutable base::Mutex reset_mutex;
  std::vector<uint64_t> exec_base GUARDED_BY(reset_mutex);
  std::vector<uint64_t> base GUARDED_BY(reset_mutex);
};

}  // namespace rowsocket::frontend
