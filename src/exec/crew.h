// How many of a port's workers are at work.
//
// One worker makes the largest turns, and what a turn costs beside its requests (a view, a commit,
// a wake-up, the storage engine's cache lines that come over from another core) is paid once for
// all of them. Another worker is worth it where it makes more requests/s, which depends on the
// cores, on who else uses them, on the disk and on the requests; so it is tried (adr/0012). Who
// waits for the disk takes no core: there less has to come of it. All but the first worker rest
// until then, and rest again when they are not needed.
//
// Flow:   every worker, once a round: Look -> once in a period: CrewSize::Next -> Balance
//         -> Worker::GiveAway, and each connection moves when it next sends something
// A worker that rests keeps the connections that are silent; a new connection goes to one at work.
//
// Threads: all functions from any. Lifetime: the workers are the service's and outlive their calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "exec/run_time.h"

namespace rowsocket::exec {

class Worker;

/// What a worker has done; written by the worker, read by the crew.
struct WorkerLoad {
  std::atomic<int64_t> slept_us{0};        ///< With nothing to do, since it started.
  std::atomic<int64_t> asleep_from_us{0};  ///< Sleeps since then; 0: it is awake.
  std::atomic<uint64_t> requests{0};       ///< Since it started.
  /// Connections that have asked for something in a period: the period, then their number.
  std::atomic<uint64_t> active{0};
  RunTime run_time;

  /// One more connection has asked for something in this period. The worker's.
  void CountActive(uint32_t period) {
    const uint64_t before = active.load(std::memory_order_relaxed);
    const uint64_t count = before >> 32 == period ? (before & UINT32_MAX) + 1 : 1;
    active.store(uint64_t{period} << 32 | count, std::memory_order_relaxed);
  }
  /// The worker's.
  void CountRequests(size_t count) {
    requests.store(requests.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  /// About: the worker may fall asleep or wake up meanwhile.
  int64_t SleptUs(int64_t now_us) const {
    const int64_t from_us = asleep_from_us.load(std::memory_order_relaxed);
    return slept_us.load(std::memory_order_relaxed) + (from_us != 0 ? now_us - from_us : 0);
  }
};

/// When twice as many workers are tried, and when half as many; and whether that stays.
class CrewSize {
 public:
  struct Sample {  ///< Of a period.
    int64_t now_ms = 0;
    double busy = 0;      ///< The workers' time awake, of those at work: 1 is one that never slept.
    double requests = 0;  ///< Requests/s.
    double blocked = 0;   ///< Of `busy`: neither run nor waited for a core.
  };
  explicit CrewSize(uint32_t workers) : workers_(workers) {}

  uint32_t at_work() const { return at_work_; }
  /// How many shall be at work in the next period.
  uint32_t Next(const Sample& sample);

 private:
  void Judge(const Sample& sample);
  void Try(bool may_be_more);

  const uint32_t workers_;
  uint32_t at_work_ = 1;
  bool is_blocked_ = false;    ///< Those at work wait for the disk, mostly.
  uint32_t tried_from_ = 0;    ///< At work before the try that is under way; 0: none is.
  bool tries_more_ = true;     ///< Next; else fewer.
  double requests_ = 0;        ///< Requests/s with as many as are at work, of late.
  int64_t hold_until_ms_ = 0;  ///< No try before that.
  int64_t hold_ms_ = 0;        ///< What was waited before the last try, if nothing came of it.
};

class Crew {
 public:
  /// `workers` is complete before the first of them runs. All are at work, always, unless
  /// `elastic`. `writes`: what they wait for is mostly the flush of what they write.
  Crew(const std::vector<std::unique_ptr<Worker>>& workers, bool elastic, bool writes);

  /// Sees to it once in a period that as many are at work as should be.
  void Look(int64_t now_ms) {
    if (now_ms >= look_ms_.load(std::memory_order_relaxed)) TakeALook(now_ms);
  }
  /// The first `count` workers are at work from now on, whatever there is to do.
  void Pin(uint32_t count);
  /// Who a new connection goes to: the one at work that has fewest.
  Worker& Emptiest() const;

  bool is_elastic() const { return elastic_; }
  uint32_t at_work() const { return at_work_.load(std::memory_order_relaxed); }
  /// For WorkerLoad::active.
  uint32_t period() const { return period_.load(std::memory_order_relaxed); }

 private:
  void TakeALook(int64_t now_ms);
  CrewSize::Sample Measure(int64_t now_ms) REQUIRES(mutex_);
  void Balance() REQUIRES(mutex_);
  uint32_t ActiveOf(const Worker& worker) const;
  void PutToRest();

  const std::vector<std::unique_ptr<Worker>>& workers_;
  const bool elastic_;
  const bool writes_;
  std::atomic<int64_t> look_ms_;
  std::atomic<uint32_t> period_{1};
  std::atomic<uint32_t> at_work_;

  base::Mutex mutex_;
  CrewSize size_ GUARDED_BY(mutex_);
  int64_t measured_us_ GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> slept_us_ GUARDED_BY(mutex_);  ///< By worker, when it was measured.
  std::vector<int64_t> ran_us_ GUARDED_BY(mutex_);    ///< The same.
  uint64_t requests_ GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<uint32_t, Worker*>> by_active_
      GUARDED_BY(mutex_);  ///< Connections; of this period.
};

}  // namespace rowsocket::exec
