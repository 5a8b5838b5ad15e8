// rowsocket-load: keeps a server under one workload, checks every reply, and prints its
// measurements as one JSON object. See bench/README.md.
//
// Flow: options; idle connections; one thread per Runner, which connects; when all are connected
//       they start at the same moment; this thread looks at the clock, at the server's and its own
//       CPU time at both ends of the measured time; report.
// Exit status: 0 right; 1 a reply was wrong, or none was right; 2 it could not be run.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/connect.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/runner.h"
#include "bench/sockets.h"

namespace rowsocket::bench {
namespace {

constexpr int kWrong = 1;
constexpr int kCannotRun = 2;
// The time from "all are connected" to the first request.
constexpr int64_t kStartDelayNs = 20'000'000;

/// Messages between the threads and main.
class Barrier {
 public:
  void Connected(bool well, const std::string& error) {
    const std::lock_guard lock(mutex_);
    ++connected_;
    if (!well && error_.empty()) error_ = error;
    changed_.notify_all();
  }
  /// Empty when all threads are connected; otherwise the error of one of them.
  std::string WaitForAll(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return connected_ == count; });
    return error_;
  }
  void Start(const Schedule* schedule) {
    const std::lock_guard lock(mutex_);
    started_ = true;
    schedule_ = schedule;
    changed_.notify_all();
  }
  /// Waits for the start. Null: the run is called off.
  const Schedule* WaitForStart() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_; });
    return schedule_;
  }
  void Finished() {
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }
  /// True when all threads have finished before `until_ns`.
  bool WaitForFinished(size_t count, int64_t until_ns) {
    const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_ns)};
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return finished_ == count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t connected_ = 0;
  size_t finished_ = 0;
  bool started_ = false;
  const Schedule* schedule_ = nullptr;
  std::string error_;
};

/// A thread's equal share; the first threads take the remainder.
Share ShareOf(const Options& options, size_t number) {
  const auto part = [&](uint64_t whole) {
    return whole / options.threads + (number < whole % options.threads ? 1 : 0);
  };
  Share share;
  share.number = number;
  share.connections = part(options.connections);
  share.requests = part(options.requests);
  share.rate = options.rate * static_cast<double>(share.connections) /
               static_cast<double>(options.connections);
  return share;
}

Moment TakeMoment(const Options& options) {
  Moment moment;
  moment.server = ReadServerUsage(options.server_pid);
  moment.own = ReadOwnUsage();
  moment.monotonic_ns = NowNs();
  moment.unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return moment;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {
    shared_.next_insert_id = options.first_id;
    // Two runs never set the same values, even when they begin in the same second.
    shared_.next_serial = static_cast<uint64_t>(NowNs() / 1000 % 1'000'000'000);
  }

  int Main() {
    std::string error;
    facts_.resident_kb_before = ReadServerUsage(options_.server_pid).resident_kb;
    if (!OpenIdle(&error) || !StartThreads(&error)) {
      std::fprintf(stderr, "rowsocket-load: %s\n", error.c_str());
      return kCannotRun;
    }
    Watch();
    for (std::thread& thread : threads_) thread.join();
    for (const auto& runner : runners_) MergeInto(&facts_.result, &runner->result());
    const BeforeImages::Result images = facts_.result.before_images.Check();
    PrintReport(options_, facts_, images);
    if (IsRight(options_, facts_, images)) return 0;
    SayWhatIsWrong();
    return kWrong;
  }

 private:
  bool OpenIdle(std::string* error) {
    if (options_.idle == 0) return true;
    idle_workload_ = MakeWorkload(options_, &shared_, options_.seed);
    const int64_t before = NowNs();
    if (!OpenConnections(options_, idle_workload_.get(), options_.idle, options_.idle_hello, &idle_,
                         error)) {
      return false;
    }
    facts_.idle_connect_s = static_cast<double>(NowNs() - before) / 1e9;
    facts_.resident_kb_after_idle = ReadServerUsage(options_.server_pid).resident_kb;
    return true;
  }

  bool StartThreads(std::string* error) {
    for (size_t i = 0; i < options_.threads; ++i) {
      const Share share = ShareOf(options_, i);
      runners_.push_back(options_.protocol == Protocol::kSql
                             ? MakeSqlRunner(options_, &shared_, share)
                             : MakeStreamRunner(options_, &shared_, share));
    }
    const int64_t before = NowNs();
    for (const auto& runner : runners_) {
      threads_.emplace_back([this, runner = runner.get()] {
        std::string failure;
        barrier_.Connected(runner->Connect(&failure), failure);
        const Schedule* schedule = barrier_.WaitForStart();
        if (schedule != nullptr) runner->Run(*schedule);
        barrier_.Finished();
      });
    }
    *error = barrier_.WaitForAll(options_.threads);
    facts_.connect_s = static_cast<double>(NowNs() - before) / 1e9;
    if (error->empty()) return true;
    barrier_.Start(nullptr);
    for (std::thread& thread : threads_) thread.join();
    return false;
  }

  void Watch() {
    schedule_.start_ns = NowNs() + kStartDelayNs;
    schedule_.measure_from_ns = schedule_.start_ns + static_cast<int64_t>(options_.warmup * 1e9);
    schedule_.measure_to_ns =
        schedule_.measure_from_ns + static_cast<int64_t>(options_.seconds * 1e9);
    barrier_.Start(&schedule_);
    WatchUntil(schedule_.measure_from_ns);
    facts_.start = TakeMoment(options_);
    WatchUntil(schedule_.measure_to_ns);
    facts_.end = TakeMoment(options_);
  }

  /// Waits until `until_ns` or until all threads have finished; prints a line of progress each
  /// second.
  void WatchUntil(int64_t until_ns) {
    const bool shows = options_.progress || isatty(STDERR_FILENO) != 0;
    for (int64_t now = NowNs(); now < until_ns; now = NowNs()) {
      const int64_t wake = shows ? std::min(until_ns, now + 1'000'000'000) : until_ns;
      if (barrier_.WaitForFinished(options_.threads, wake)) return;
      if (shows && wake != until_ns) ShowProgress();
    }
  }

  void ShowProgress() {
    uint64_t requests = 0;
    for (const auto& runner : runners_) requests += runner->progress();
    const double seconds = static_cast<double>(NowNs() - schedule_.start_ns) / 1e9;
    std::fprintf(stderr, "%5.1f s  %llu requests  %.0f/s\n", seconds,
                 static_cast<unsigned long long>(requests),
                 static_cast<double>(requests) / seconds);
  }

  void SayWhatIsWrong() const {
    const Tally& measured = facts_.result.measured;
    const Tally& outside = facts_.result.outside;
    std::fprintf(
        stderr,
        "rowsocket-load: not right: %ju requests, %ju mismatches, %ju errors, %ju unanswered"
        "%s\n",
        uintmax_t{measured.requests + outside.requests},
        uintmax_t{measured.mismatches + outside.mismatches},
        uintmax_t{measured.errors + outside.errors}, uintmax_t{facts_.result.unanswered},
        options_.verify_conservation ? "; or before-images that are not distinct" : "");
  }

  const Options& options_;
  Shared shared_;
  std::unique_ptr<Workload> idle_workload_;
  std::vector<Stream> idle_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<std::thread> threads_;
  Barrier barrier_;
  Schedule schedule_;
  RunFacts facts_;
};

}  // namespace
}  // namespace rowsocket::bench

int main(int argc, char** argv) {
  int exit_status = 0;
  const auto options = rowsocket::bench::ParseOptions(argc, argv, &exit_status);
  if (!options) return exit_status;
  rowsocket::bench::RaiseDescriptorLimit();
  return rowsocket::bench::Run(*options).Main();
}
