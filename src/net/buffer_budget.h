// How many bytes all connections of a port together may hold in their buffers. The limits of each
// connection are not enough, because there are many connections.
//
// Threads: any.
// Lifetime: outlives the connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/require.h"

namespace rowsocket::net {

class BufferBudget {
 public:
  /// Sets the limit. REQUIRES: there is no connection yet.
  void SetMax(size_t bytes_max) {
    ROWSOCKET_REQUIRE(held_bytes() == 0);
    bytes_max_ = bytes_max;
  }

  /// Notes that a connection that held `before` bytes now holds `now`. False: all connections
  /// together hold more than they may.
  bool Change(size_t before, size_t now) {
    return held_bytes_.fetch_add(now - before, std::memory_order_relaxed) + now - before <=
           bytes_max_;
  }

  size_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

 private:
  size_t bytes_max_ = SIZE_MAX;
  std::atomic<size_t> held_bytes_{0};
};

}  // namespace rowsocket::net
