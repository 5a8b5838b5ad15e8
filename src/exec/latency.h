// How long requests take, by port, verb and phase: histograms that each worker keeps and readers
// add up.
//
// The clock is read once at each boundary between two phases of a turn, and the requests of the
// turn share what it says. A request's time begins when the worker's wait for events returns with
// the request's last byte, and ends when the worker has handed the replies of the turn to their
// sockets.
//
//   whole     = | queue | execute | commit | held | and the sending of the turn's replies
//   whole     = | lock wait |, if the request met a lock: its execution and commit are in the lane
//
// A request that the lane hands back once the lock is free has a lock wait and the phases of the
// first line.
//
// Flow: a LatencyRegistry for a plugin; each worker has one LatencyBlock; the tables ask the
//       registry to Read.
// Threads: a block from its worker's thread; the registry from any.
// Lifetime: the registry outlives its blocks; what a block has counted stays.
// Limits: a histogram is made when there is a first time to count in it: 3.5 KB
// (sizeof(base::LatencyHistogram)) for each worker, verb and phase that occur. If there is no
// memory for it, the time is not counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/counters.h"
#include "base/latency_histogram.h"
#include "base/mutex.h"

namespace rowsocket::exec {

struct ItemRun;
struct TurnClient;
class ItemRuns;

enum class Phase : uint8_t {
  kQueue,     ///< From the request's last byte to the beginning of the turn's execution, without
              ///< the time in the wait lane of a request that the lane has handed back.
  kLockWait,  ///< In the wait lane.
  kExecute,   ///< The execution of the turn, or batch, that the request was in.
  kCommit,    ///< The commit of that turn, if it wrote.
  kHeld,      ///< Executed, while the reply waited for the end of another worker's commit.
  kWhole,     ///< From the request's last byte to the reply.
};
inline constexpr const char* kPhaseNames[] = {"queue",  "lock_wait", "execute",
                                              "commit", "held",      "whole"};
inline constexpr size_t kPhases = std::size(kPhaseNames);
static_assert(kPhases == static_cast<size_t>(Phase::kWhole) + 1);

/// The boundaries of a turn's phases, in nanoseconds of base::NowNs.
struct TurnTimes {
  int64_t began_ns = 0;
  int64_t executed_ns = 0;
  int64_t ended_ns = 0;  ///< After the commit.
  bool commits = false;  ///< The turn had something to commit.
};

struct LatencyRow {
  std::string mode;  ///< PortSettings::mode.
  uint32_t verb = 0;
  Phase phase = Phase::kWhole;
  base::LatencyCounts counts;
};

class LatencyBlock;

class LatencyRegistry {
 public:
  /// `verbs`: one more than the largest number of a verb. `since`: a variable that the server's
  /// FLUSH STATUS sets to 0; the registry then begins anew, and stores there when it did, in
  /// seconds since 1970. Null: nothing is flushed.
  LatencyRegistry(uint32_t verbs, unsigned long* since);
  LatencyRegistry(const LatencyRegistry&) = delete;
  LatencyRegistry& operator=(const LatencyRegistry&) = delete;

  uint32_t verbs() const { return verbs_; }

  /// What has been counted since the last flush, ordered by mode, verb and phase. Histograms that
  /// have counted nothing are left out.
  std::vector<LatencyRow> Read() const;
  /// The whole time of the requests of all ports and verbs.
  base::LatencyCounts Whole() const;

  /// How often the registry has begun anew.
  uint64_t flushes() const {
    LookForFlush();
    return flushes_.load(std::memory_order_relaxed);
  }

  /// Begins anew if FLUSH STATUS was called.
  void LookForFlush() const {
    if (since_ == nullptr || __atomic_load_n(since_, __ATOMIC_RELAXED) != 0) [[likely]]
      return;
    BeginAnew();
  }

 private:
  friend class LatencyBlock;
  using Key = std::tuple<std::string, uint32_t, Phase>;
  using Counts = std::map<Key, base::LatencyCounts>;

  void Enter(const LatencyBlock* block);
  void Leave(const LatencyBlock* block);
  void BeginAnew() const;
  static void AddUp(const LatencyBlock& block, Counts* counts);
  Counts Sum() const REQUIRES(mutex_);

  const uint32_t verbs_;
  unsigned long* const since_;
  mutable std::atomic<uint64_t> flushes_{0};
  mutable base::Mutex mutex_;
  std::vector<const LatencyBlock*> blocks_ GUARDED_BY(mutex_);
  Counts retired_ GUARDED_BY(mutex_);          ///< What blocks that are gone have counted.
  mutable Counts flushed_ GUARDED_BY(mutex_);  ///< What was counted before the last flush.
};

class alignas(base::kCacheLineBytes) LatencyBlock {
 public:
  /// Null `registry`: nothing is counted.
  LatencyBlock(LatencyRegistry* registry, std::string mode);
  ~LatencyBlock();
  LatencyBlock(const LatencyBlock&) = delete;
  LatencyBlock& operator=(const LatencyBlock&) = delete;

  /// Makes the registry begin anew if FLUSH STATUS was called. Call at the beginning of a round.
  void LookForFlush() const {
    if (registry_ != nullptr) registry_->LookForFlush();
  }
  void Add(uint32_t verb, Phase phase, int64_t ns, uint64_t times = 1);
  /// Counts the finished items of a turn, whose replies were sent until `sent_ns`. For a client
  /// whose replies are held, it only notes how many replies there are.
  void AddTurn(const ItemRuns& runs, const TurnTimes& times, int64_t sent_ns);
  /// Counts the requests of a client whose held replies have been sent.
  void AddHeld(TurnClient& client, int64_t sent_ns);

 private:
  friend class LatencyRegistry;

  void AddItems(const ItemRun& run, uint64_t items, const TurnTimes& times, int64_t sent_ns);
  template <typename Visit>
  void ForEach(Visit visit) const;

  LatencyRegistry* const registry_;
  const std::string mode_;
  /// The histograms by verb, then phase; null: no time has been counted yet.
  std::vector<std::atomic<base::LatencyHistogram*>> histograms_;
};

}  // namespace rowsocket::exec
