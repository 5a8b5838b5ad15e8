#include "bench/runner.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "bench/sockets.h"

namespace rowsocket::bench {
namespace {

constexpr int64_t kSleepNsMax = 100'000'000;
constexpr size_t kEventsMax = 512;
// By how much the kernel may wake a sleeping thread too late; a fixed rate needs better than the
// default of 50 us.
constexpr unsigned long kTimerSlackNs = 1000;

}  // namespace

Runner::Runner(const Options& options, Share share)
    : options_(options), share_(share), pace_(share.rate, share.connections) {
  result_.replies_per_connection.resize(share.connections);
}

bool Runner::OpenEpoll(std::string* error) {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) *error = std::string("epoll_create1: ") + strerror(errno);
  return epoll_.valid();
}

void Runner::Run(const Schedule& schedule) {
  schedule_ = schedule;
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  WaitForStart();
  EnterPhase(NowNs());
  if (!pace_.fixed()) {
    for (size_t number = 0; number < share_.connections; ++number) Fill(number, NowNs());
  }
  std::array<epoll_event, kEventsMax> events;
  for (int64_t now = NowNs();; now = NowNs()) {
    EnterPhase(now);
    FillDue(now);
    if (IsOver(now)) break;
    const timespec timeout = {0, std::clamp<int64_t>(NextWakeNs() - now, 0, kSleepNsMax)};
    const int count = epoll_pwait2(epoll_.get(), events.data(), events.size(), &timeout, nullptr);
    for (int i = 0; i < count; ++i) OnReady(events[i].data.ptr, events[i].events);
    progress_.store(result_.measured.requests + result_.outside.requests,
                    std::memory_order_relaxed);
  }
  result_.unanswered += in_flight_;
}

void Runner::WaitForStart() {
  const timespec start = {schedule_.start_ns / 1'000'000'000, schedule_.start_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, nullptr) == EINTR) {
  }
}

void Runner::EnterPhase(int64_t now) {
  measures_ = now >= schedule_.measure_from_ns && now < schedule_.measure_to_ns;
  tally_ = measures_ ? &result_.measured : &result_.outside;
  if (!sends_ || now < schedule_.measure_to_ns) return;
  sends_ = false;
  if (!pace_.fixed()) return;
  const auto span = static_cast<double>(schedule_.measure_to_ns - schedule_.start_ns);
  const auto due = static_cast<uint64_t>(span * share_.rate / 1e9);
  result_.unsent = due > built_ ? due - built_ : 0;
}

bool Runner::IsOver(int64_t now) const {
  if (now > schedule_.measure_to_ns + kDrainNs) return true;
  const bool all_sent = !sends_ || (share_.requests != 0 && built_ == share_.requests);
  return in_flight_ == 0 && (all_sent || result_.disconnects == share_.connections);
}

int64_t Runner::NextWakeNs() const {
  if (!sends_) return INT64_MAX;
  const int64_t phase_end = measures_ ? schedule_.measure_to_ns : schedule_.measure_from_ns;
  return pace_.fixed() ? std::min(phase_end, pace_.DueNs(schedule_.start_ns, due_)) : phase_end;
}

// Looks at each request at the moment when it is due. If the connection has its depth in flight,
// Fill sends the request later, when a reply makes room.
void Runner::FillDue(int64_t now) {
  if (!pace_.fixed()) return;
  for (; sends_ && pace_.DueNs(schedule_.start_ns, due_) <= now; ++due_) {
    Fill(due_ % share_.connections, now);
  }
}

bool Runner::MayBuild(size_t number, uint64_t built, int64_t now, int64_t* since) const {
  if (!sends_ || (share_.requests != 0 && built_ == share_.requests)) return false;
  *since = pace_.fixed() ? pace_.DueNs(schedule_.start_ns, number, built) : now;
  return *since <= now;
}

void Runner::CountReply(size_t number, Verdict verdict, uint64_t rows, int64_t since_ns,
                        int64_t now) {
  --in_flight_;
  tally_->Count(verdict, rows);
  if (!measures_) return;
  tally_->latency_ns.Record(static_cast<uint64_t>(now - since_ns));
  ++result_.replies_per_connection[number];
}

void Runner::CountLost(size_t in_flight) {
  ++result_.disconnects;
  result_.unanswered += in_flight;
  in_flight_ -= in_flight;
}

}  // namespace rowsocket::bench
