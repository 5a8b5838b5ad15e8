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

#include "base/clock.h"
#include "base/mutex.h"
#include "exec/latency.h"
#include "exec/stats.h"
#include "frontend/memcached/counters.h"
#include "frontend/memcached/details.h"
#include "frontend/memcached/marks.h"
#include "keyspace/keyspaces.h"
#include "model/account.h"
#include "model/health.h"
#include "model/limits.h"

namespace rowsocket::frontend {

struct MemcachedSettings {
  model::Limits limits;
  bool may_flush = false;
  bool accounts = false;  ///< Clients have to log in with an account of the server.
  /// The account of connections that have not logged in with another one; null: they may do
  /// everything.
  std::shared_ptr<const model::Account> account;
  std::string version;
  unsigned threads = 1;
  uint16_t port = 0;
  std::string socket;
  std::string address;
  unsigned backlog = 0;
  /// Reads the server's health. Null: the server is a primary that takes everything.
  std::function<model::Health()> health;
};

struct MemcachedShared {
  MemcachedShared(MemcachedSettings given, const exec::StatRegistry& stats,
                  const exec::LatencyRegistry& latencies,
                  std::shared_ptr<keyspace::Keyspaces> of_server)
      : settings(std::move(given)),
        keyspaces(std::move(of_server)),
        exec_stats(stats),
        latency(latencies) {}

  /// Brings the counters that are averages of latencies up to date.
  void ReadLatencies();

  const MemcachedSettings settings;
  const std::shared_ptr<keyspace::Keyspaces> keyspaces;
  MemcachedMarks marks;
  MemcachedCounters counters;
  MemcachedDetails details;
  const exec::StatRegistry& exec_stats;
  const exec::LatencyRegistry& latency;
  const int64_t started_ms = base::CoarseNowMs();
  std::atomic<uint64_t> next_connection{1};  ///< The upper half of MemcachedWork::serial.

  /// The values of the counters at the last `stats reset`.
  mutable base::Mutex reset_mutex;
  std::vector<uint64_t> exec_at_reset GUARDED_BY(reset_mutex);
  std::vector<uint64_t> at_reset GUARDED_BY(reset_mutex);
};

}  // namespace rowsocket::frontend
