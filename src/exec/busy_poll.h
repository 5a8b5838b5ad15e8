// Whether a worker that has nothing to do looks for the next requests for a moment before it
// sleeps.
//
// With one request in flight on each of a few connections a worker would fall asleep after each
// turn. On a machine that is otherwise idle, waking it costs more than its work: a core has to be
// interrupted, and its caches have gone cold (adr/0013). Busy-polling pays if the next requests
// come within some microseconds. If they do not come, the worker puts its next try off, for
// twice as many turns each time, so that polling in vain costs nothing that could be measured.
//
// Flow: when a turn ends Begins is called, and Begin if it says so; IsOver is called while
// nothing is there; End is called when requests have come, or the moment is over.
// Threads: the worker's own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rowsocket::exec {

class BusyPoll {
 public:
  /// With more clients than this a worker does not poll: while it sleeps, more requests come,
  /// and one larger turn is worth more (adr/0013).
  static constexpr uint32_t kClientsMax = 8;
  /// How long a worker polls before it sleeps.
  static constexpr int64_t kMomentUs = 30;
  /// The next try comes after this many turns at the latest.
  static constexpr uint32_t kTurnsPutOffMax = 1023;

  /// Whether to poll after a turn that had requests. `clients`: how many sent something of late.
  bool Begins(uint32_t clients) {
    if (clients > kClientsMax) return false;
    if (turns_put_off_ == 0) return true;
    --turns_put_off_;
    return false;
  }
  void Begin(int64_t now_us) { from_us_ = now_us; }

  bool is_on() const { return from_us_ != 0; }
  bool IsOver(int64_t now_us) const { return now_us - from_us_ >= kMomentUs; }

  /// Ends the moment of polling. `found`: requests came in that moment. If requests come less
  /// than every second time, the tries become rare.
  void End(bool found) {
    from_us_ = 0;
    miss_ = found ? miss_ / 2 : std::min(2 * miss_ + 1, kTurnsPutOffMax);
    turns_put_off_ = found ? 0 : miss_;
  }

 private:
  int64_t from_us_ = 0;         ///< When the moment began; 0: the worker does not poll.
  uint32_t miss_ = 0;           ///< Turns that the last miss put off; half for each hit since.
  uint32_t turns_put_off_ = 0;  ///< Turns until the next try.
};

}  // namespace rowsocket::exec
