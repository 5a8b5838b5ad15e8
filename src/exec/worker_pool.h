// How many of a port's workers are at work.
//
// One worker makes the largest turns, and what a turn costs besides its requests (a view, a commit,
// a wake-up, the storage engine's cache lines that come from another core) is paid once for all of
// them. Another worker is worth it if it makes more requests/s, which depends on the cores, on
// their other users, on the disk and on the requests; so it is tried (adr/0012). A worker that
// waits for the disk takes no core, so that it is worth it for fewer. Until they are tried, all
// workers but the first rest, and they rest again when they are not needed.
//
// Flow: every worker, once a round: AdaptIfDue
//       -> once in a period: WorkerPoolSizer::Next -> Balance
//       -> Worker::GiveAway, and each connection moves when it next sends something
//
// A worker that rests keeps the connections that are silent; a new connection goes to one at work.
// A worker that lacks a session counts neither as working nor as resting.
//
// Threads: all functions from any.
// Lifetime: the workers are the port's and outlive their calls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "exec/run_time.h"

namespace rowsocket::exec {

class Worker;

/// The work that a worker has done; written by the worker, read by the pool.
struct WorkerLoad {
  std::atomic<int64_t> slept_us{0};  ///< Time without anything to do, since the worker started.
  std::atomic<int64_t> asleep_from_us{0};  ///< When the worker fell asleep; 0: it is awake.
  std::atomic<uint64_t> requests{0};       ///< Requests answered since the worker started.
  /// Two numbers in one: a period, and how many connections have asked for something in it.
  std::atomic<uint64_t> active{0};
  /// How many connections had asked for something in the period before; the worker's own.
  uint32_t active_before = 0;
  /// Time of busy polling: the worker was on a core, and counts as asleep.
  std::atomic<int64_t> busy_polled_us{0};
  /// Time in commits of batches that the worker ran itself.
  std::atomic<int64_t> committed_us{0};
  RunTime run_time;

  /// Counts a connection that has sent something for the first time in this period. Called by the
  /// worker.
  void CountActive(uint32_t period) {
    const uint64_t before = active.load(std::memory_order_relaxed);
    const uint64_t count = before >> 32 == period ? (before & UINT32_MAX) + 1 : 1;
    if (count == 1) active_before = static_cast<uint32_t>(before);
    active.store(uint64_t{period} << 32 | count, std::memory_order_relaxed);
  }
  /// Called by the worker.
  void CountRequests(size_t count) {
    requests.store(requests.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  /// Called by the worker.
  void CountCommit(int64_t us) {
    committed_us.store(committed_us.load(std::memory_order_relaxed) + us,
                       std::memory_order_relaxed);
  }
  /// How many connections sent something in this period or in the one before. Called by the worker.
  uint32_t ActiveLately(uint32_t period) const {
    const uint64_t now = active.load(std::memory_order_relaxed);
    const uint32_t count = static_cast<uint32_t>(now);
    return now >> 32 == period ? std::max(count, active_before) : count;
  }
  /// FallAsleep and WakeUp are called by the worker, before and after it has nothing to do.
  void FallAsleep(int64_t now_us) { asleep_from_us.store(now_us, std::memory_order_relaxed); }
  void WakeUp(int64_t now_us) {
    const int64_t slept = SleptUs(now_us);
    asleep_from_us.store(0, std::memory_order_relaxed);
    slept_us.store(slept, std::memory_order_relaxed);
  }
  /// The time that the worker has slept. It is approximate, because the worker may fall asleep or
  /// wake up meanwhile.
  int64_t SleptUs(int64_t now_us) const {
    const int64_t from_us = asleep_from_us.load(std::memory_order_relaxed);
    return slept_us.load(std::memory_order_relaxed) + (from_us != 0 ? now_us - from_us : 0);
  }
};

/// Decides when twice or half as many workers are tried, and whether the new number stays.
class WorkerPoolSizer {
 public:
  /// What was measured in one period.
  struct Sample {
    int64_t now_ms = 0;
    double busy = 0;      ///< Sum of the parts of time awake: each worker at work adds up to 1.
    double requests = 0;  ///< Requests/s.
    double blocked = 0;   ///< The part of `busy` in which workers neither ran nor waited for a
                          ///< core.
  };
  explicit WorkerPoolSizer(uint32_t workers) : workers_(workers) {}

  uint32_t at_work() const { return at_work_; }
  /// Decides how many workers are at work in the next period.
  uint32_t Next(const Sample& sample);

 private:
  void Decide(const Sample& sample);
  void Try(bool may_be_more);

  const uint32_t workers_;
  uint32_t at_work_ = 1;
  bool is_steady_ = false;     ///< The load lasted all through the period before.
  bool is_blocked_ = false;    ///< The workers at work mostly wait for the disk.
  uint32_t tried_from_ = 0;    ///< Workers at work before the try that is under way; 0: no try.
  bool tries_more_ = true;     ///< The next try is with more workers, not fewer.
  double requests_ = 0;        ///< Requests/s of late, with as many workers as are at work now.
  int64_t hold_until_ms_ = 0;  ///< When the next try may begin.
  int64_t hold_ms_ = 0;        ///< How long the last try was put off, if the try before it brought
                               ///< nothing.
};

class WorkerPool {
 public:
  /// `workers` is complete before the first of them runs. Unless `elastic`, all are always at work.
  /// `writes`: workers wait mostly for the flush of what they write.
  WorkerPool(const std::vector<std::unique_ptr<Worker>>& workers, bool elastic, bool writes);

  /// Begins the next period when the present one is over, and sets how many workers are at work.
  void AdaptIfDue(int64_t now_ms) {
    if (now_ms >= due_ms_.load(std::memory_order_relaxed)) Adapt(now_ms);
  }
  /// Makes the first `count` workers work from now on, whatever the load.
  void Pin(uint32_t count);
  /// The worker for a new connection: the one at work that has the fewest. Null: all workers lack
  /// sessions.
  Worker* Emptiest() const;

  bool is_elastic() const { return elastic_; }
  uint32_t at_work() const { return at_work_.load(std::memory_order_relaxed); }
  /// The period that WorkerLoad::active counts in.
  uint32_t period() const { return period_.load(std::memory_order_relaxed); }

 private:
  void Adapt(int64_t now_ms);
  WorkerPoolSizer::Sample Measure(int64_t now_ms) REQUIRES(mutex_);
  void Balance() REQUIRES(mutex_);
  uint32_t ActiveOf(const Worker& worker) const;
  void PutToRest();

  const std::vector<std::unique_ptr<Worker>>& workers_;
  const bool elastic_;
  const bool writes_;
  std::atomic<int64_t> due_ms_;
  std::atomic<uint32_t> period_{1};
  std::atomic<uint32_t> at_work_;

  base::Mutex mutex_;
  WorkerPoolSizer sizer_ GUARDED_BY(mutex_);
  int64_t measured_us_ GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> slept_us_ GUARDED_BY(mutex_);      ///< By worker, at the last measurement.
  std::vector<int64_t> ran_us_ GUARDED_BY(mutex_);        ///< By worker, at the last measurement.
  std::vector<int64_t> committed_us_ GUARDED_BY(mutex_);  ///< By worker, at the last measurement.
  uint64_t requests_ GUARDED_BY(mutex_) = 0;
  /// How many active connections each worker has in this period.
  std::vector<std::pair<uint32_t, Worker*>> by_active_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
