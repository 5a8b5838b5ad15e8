#include "exec/worker_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "exec/worker.h"

namespace rowsocket::exec {

namespace {

/// Long enough that a quarter more requests/s is seldom chance.
constexpr int64_t kPeriodMs = 100;
/// Workers that are awake for more of the time than this have no room for more requests.
constexpr double kFull = 0.85;
/// Fewer workers are enough when they could do the work and still sleep for this part of the time.
constexpr double kSpare = 0.4;
/// Twice as many workers have to serve this many times the requests/s, and half as many may serve
/// that much less: another worker takes up to a core, which clients on the same machine could use.
/// The number of workers is doubled because one more among many brings too little to tell from
/// chance, even if each waits for the disk (adr/0012).
constexpr double kWorthMore = 1.25;
constexpr double kWorthLess = 0.85;
/// If the workers are blocked for this part of the time that they are awake, another worker need
/// not bring as much: a blocked worker leaves its core to others.
constexpr double kBlocked = 0.4;
constexpr double kWorthMoreBlocked = 1.08;
constexpr double kWorthLessBlocked = 0.95;
/// How long to wait until the next try; doubled after each try that brought nothing.
constexpr int64_t kHoldMs = 800;
constexpr int64_t kHoldMsMax = 6400;

}  // namespace

uint32_t WorkerPoolSizer::Next(const Sample& sample) {
  if (tried_from_ != 0) {
    Decide(sample);
    return at_work_;
  }
  const bool is_full = sample.busy >= kFull * at_work_;
  const bool is_idle = at_work_ == 1 ? !is_full : sample.busy < (1 - kSpare) * (at_work_ - 1);
  if (is_idle) {
    if (at_work_ > 1) --at_work_;
    requests_ = 0;
    is_steady_ = false;
    hold_until_ms_ = hold_ms_ = 0;
  } else if (!is_steady_) {
    // The load may have begun in the midst of this period, whose requests/s would be too low to
    // compare with.
    is_steady_ = true;
  } else {
    requests_ = requests_ == 0 ? sample.requests : (requests_ + sample.requests) / 2;
    is_blocked_ = sample.blocked >= kBlocked * sample.busy;
    if (sample.now_ms >= hold_until_ms_) Try(is_full);
  }
  return at_work_;
}

void WorkerPoolSizer::Try(bool may_be_more) {
  const bool tries_more = at_work_ == 1 || (may_be_more && tries_more_ && at_work_ < workers_);
  tried_from_ = at_work_;
  at_work_ = tries_more ? std::min(2 * at_work_, workers_) : (at_work_ + 1) / 2;
}

void WorkerPoolSizer::Decide(const Sample& sample) {
  const bool tried_more = at_work_ > tried_from_;
  const double more = is_blocked_ ? kWorthMoreBlocked : kWorthMore;
  const double less = is_blocked_ ? kWorthLessBlocked : kWorthLess;
  const double worth = (tried_more ? more : less) * requests_;
  const bool stays = sample.requests >= worth;
  tries_more_ = stays == tried_more;
  if (stays) {
    requests_ = sample.requests;
    hold_ms_ = 0;
    // After a success the next try comes at once, so that many workers are soon at work. If a
    // period was good only by chance, the next tries correct that.
    const bool goes_on = tried_more && at_work_ < workers_;
    hold_until_ms_ = goes_on ? 0 : sample.now_ms + kHoldMs;
  } else {
    at_work_ = tried_from_;
    hold_ms_ = std::clamp(2 * hold_ms_, kHoldMs, kHoldMsMax);
    hold_until_ms_ = sample.now_ms + hold_ms_;
  }
  tried_from_ = 0;
}

WorkerPool::WorkerPool(const std::vector<std::unique_ptr<Worker>>& workers, bool elastic,
                       bool writes)
    : workers_(workers),
      elastic_(elastic && workers.size() > 1),
      writes_(writes),
      due_ms_(0),
      at_work_(elastic_ ? 1 : static_cast<uint32_t>(workers.size())),
      sizer_(static_cast<uint32_t>(workers.size())),
      slept_us_(workers.size()),
      ran_us_(workers.size()),
      committed_us_(workers.size()) {
  by_active_.reserve(workers.size());
}

void WorkerPool::Adapt(int64_t now_ms) {
  if (!mutex_.TryLock()) return;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  if (now_ms < due_ms_.load(std::memory_order_relaxed)) return;
  due_ms_.store(now_ms + kPeriodMs, std::memory_order_relaxed);
  if (!elastic_) {
    period_.store(period() + 1, std::memory_order_relaxed);
    return;
  }
  const bool is_first = measured_us_ == 0;
  const WorkerPoolSizer::Sample sample = Measure(now_ms);
  if (is_first) return;
  at_work_.store(sizer_.Next(sample), std::memory_order_relaxed);
  Balance();
  period_.store(period() + 1, std::memory_order_relaxed);
}

WorkerPoolSizer::Sample WorkerPool::Measure(int64_t now_ms) {
  const int64_t now_us = base::NowUs();
  const double elapsed_us = static_cast<double>(std::max<int64_t>(now_us - measured_us_, 1));
  double awake_us = 0, blocked_us = 0;
  uint64_t requests = 0;
  uint32_t left = at_work();
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const WorkerLoad& load = workers_[i]->load();
    requests += load.requests.load(std::memory_order_relaxed);
    const int64_t slept_us = load.SleptUs(now_us);
    const double asleep_us = static_cast<double>(slept_us - std::exchange(slept_us_[i], slept_us));
    // A flush of another worker's batch ends no sooner than one of this worker's larger batch, so
    // that the time in commits is no work for which another worker is wanted.
    const int64_t committed_us = load.committed_us.load(std::memory_order_relaxed);
    const double commit_us =
        static_cast<double>(committed_us - std::exchange(committed_us_[i], committed_us));
    int64_t ran_us = writes_ ? -1 : load.run_time.Us();
    if (ran_us >= 0) ran_us -= load.busy_polled_us.load(std::memory_order_relaxed);
    const double run_us = static_cast<double>(ran_us - std::exchange(ran_us_[i], ran_us));
    if (workers_[i]->lacks_session() || left == 0) continue;
    --left;
    const double worker_awake_us = elapsed_us - std::clamp(asleep_us, 0.0, elapsed_us);
    awake_us += std::max(worker_awake_us - commit_us, 0.0);
    if (ran_us >= 0) blocked_us += std::max(worker_awake_us - run_us, 0.0);
  }
  WorkerPoolSizer::Sample sample;
  sample.now_ms = now_ms;
  sample.busy = awake_us / elapsed_us;
  sample.blocked = blocked_us / elapsed_us;
  sample.requests = static_cast<double>(requests - requests_) * 1e6 / elapsed_us;
  measured_us_ = now_us;
  requests_ = requests;
  return sample;
}

uint32_t WorkerPool::ActiveOf(const Worker& worker) const {
  const uint64_t active = worker.load().active.load(std::memory_order_relaxed);
  return active >> 32 == period() ? static_cast<uint32_t>(active) : 0;
}

// The busiest worker gives its connections beyond its share to the least busy one, the second
// busiest to the second least busy, and so on: when twice as many workers are tried, each has its
// part at once.
void WorkerPool::Balance() {
  PutToRest();
  by_active_.clear();
  uint32_t sum = 0;
  uint32_t left = at_work();
  for (const auto& worker : workers_) {
    if (worker->lacks_session()) continue;
    if (left-- == 0) break;
    by_active_.emplace_back(ActiveOf(*worker), worker.get());
    sum += by_active_.back().first;
    worker->GiveAway(nullptr, 0);
  }
  if (by_active_.empty()) return;
  std::sort(by_active_.begin(), by_active_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t count = by_active_.size();
  const uint32_t share = sum / static_cast<uint32_t>(count);
  for (size_t i = 0; i < count / 2; ++i) {
    const auto& [fewest, least] = by_active_[i];
    const auto& [most, busiest] = by_active_[count - 1 - i];
    if (most < share + 2 || most - share <= share / 8 || fewest >= share) break;
    busiest->GiveAway(least, std::min(most - share, share - fewest));
  }
}

void WorkerPool::PutToRest() {
  uint32_t left = at_work();
  for (const auto& worker : workers_) {
    if (worker->lacks_session()) continue;
    if (left == 0) worker->GiveAway(Emptiest(), Worker::kGiveAllAway);
    if (left > 0) --left;
  }
}

void WorkerPool::Pin(uint32_t count) {
  const base::MutexLock lock(mutex_);
  due_ms_.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  at_work_.store(count, std::memory_order_relaxed);
  Balance();
}

Worker* WorkerPool::Emptiest() const {
  Worker* emptiest = nullptr;
  uint32_t left = at_work();
  for (const auto& worker : workers_) {
    if (worker->lacks_session()) continue;
    if (left-- == 0) break;
    if (emptiest == nullptr || worker->connections() < emptiest->connections())
      emptiest = worker.get();
  }
  return emptiest;
}

}  // namespace rowsocket::exec
