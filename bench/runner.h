// One thread's part of a run: its connections and their measurements. Runner has the loop and the
// clock; StreamRunner and SqlRunner send and receive.
//
// Flow: Connect() on each runner's own thread; when all are connected Run(schedule); then the
//       thread that joined this one reads the results.
//       Run: Fill each connection up to its depth; then OnReady per ready descriptor, which judges
//       replies and fills again, until the time is over and the last reply has come. With a fixed
//       rate Fill sends the requests that are due, and the thread sleeps until the next request is
//       due.
// Threads: all calls come from its own thread, except progress(), which any thread may call.
// Errors: Connect returns the failure. In Run a lost connection is counted and not opened again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/tally.h"
#include "bench/workload.h"
#include "net/unique_fd.h"

namespace rowsocket::bench {

/// How long a runner waits for replies after the end.
inline constexpr int64_t kDrainNs = 15'000'000'000;

/// Times of CLOCK_MONOTONIC.
struct Schedule {
  int64_t start_ns = 0;
  int64_t measure_from_ns = 0;
  int64_t measure_to_ns = 0;  ///< From here on no request is sent, but replies still count.
};

struct RunResult {
  Tally measured;
  Tally outside;
  BeforeImages before_images;
  std::vector<uint64_t> replies_per_connection;  ///< Replies within the measured time.
  uint64_t disconnects = 0;
  uint64_t unanswered = 0;  ///< Requests that were sent and have no reply.
  /// With a fixed rate: how many requests were due, but not sent before the end.
  uint64_t unsent = 0;
};

/// A thread's share of the options.
struct Share {
  size_t number = 0;       ///< The number of the thread, from 0.
  size_t connections = 0;  ///< The connections of the thread.
  uint64_t requests = 0;   ///< The most requests to send; 0: no limit.
  double rate = 0;         ///< Requests per second; 0: closed loop.
};

/// The times at which requests are due at a fixed rate: request i at start + i / rate, on
/// connection i modulo the number of connections. The clock does not wait for a slow server, so the
/// time that a request has to wait for the server is part of its latency.
class Pace {
 public:
  Pace(double rate, size_t connections)
      : interval_ns_(rate > 0 ? 1e9 / rate : 0), connections_(connections) {}

  bool fixed() const { return interval_ns_ > 0; }
  int64_t DueNs(int64_t start_ns, uint64_t request) const {
    return start_ns + static_cast<int64_t>(static_cast<double>(request) * interval_ns_);
  }
  int64_t DueNs(int64_t start_ns, size_t connection, uint64_t request_of_connection) const {
    return DueNs(start_ns, request_of_connection * connections_ + connection);
  }

 private:
  double interval_ns_;
  uint64_t connections_;
};

class Runner {
 public:
  Runner(const Options& options, Share share);
  virtual ~Runner() = default;

  virtual bool Connect(std::string* error) = 0;
  void Run(const Schedule& schedule);

  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  RunResult& result() { return result_; }

 protected:
  /// Sends the requests that connection `number` (from 0) may send now; see MayBuild.
  virtual void Fill(size_t number, int64_t now) = 0;
  /// Handles an event of the descriptor that was added to epoll() with `tag`.
  virtual void OnReady(void* tag, uint32_t events) = 0;

  bool OpenEpoll(std::string* error);
  int epoll() const { return epoll_.get(); }

  /// Whether a connection that has sent `built` requests may send one more. `*since` is the moment
  /// at which it could, from which its latency counts.
  bool MayBuild(size_t number, uint64_t built, int64_t now, int64_t* since) const;
  void CountBuilt() { ++built_, ++in_flight_; }
  /// Counts a reply to the request that was sent at `since_ns`.
  void CountReply(size_t number, Verdict verdict, uint64_t rows, int64_t since_ns, int64_t now);
  void CountLost(size_t in_flight);
  /// The tally of the present phase of Run.
  Tally& tally() { return *tally_; }

  const Options& options_;
  RunResult result_;

 private:
  void WaitForStart();
  void EnterPhase(int64_t now);
  bool IsOver(int64_t now) const;
  int64_t NextWakeNs() const;
  void FillDue(int64_t now);

  const Share share_;
  const Pace pace_;
  net::UniqueFd epoll_;
  Schedule schedule_;
  Tally* tally_ = nullptr;
  bool measures_ = false;
  bool sends_ = true;
  uint64_t built_ = 0;
  uint64_t due_ = 0;  ///< With a fixed rate: the next request that FillDue looks at.
  uint64_t in_flight_ = 0;
  std::atomic<uint64_t> progress_{0};
};

std::unique_ptr<Runner> MakeStreamRunner(const Options& options, Shared* shared, Share share);
std::unique_ptr<Runner> MakeSqlRunner(const Options& options, Shared* shared, Share share);

}  // namespace rowsocket::bench
