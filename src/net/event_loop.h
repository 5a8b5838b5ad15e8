// Waits for sockets to become ready: epoll, plus a wake-up from other threads. A descriptor that is
// ready is reported again and again, or, with EPOLLET, once.
//
// Threads: one owner calls everything but Wake, which any thread may call at any time.
// Lifetime: a descriptor is removed before it is closed and before its tag dies; events already
// returned by Wait may still name it, so owners free closed objects after the turn.
// Errors: false with errno set, if there is no memory, no descriptor, or no further watch for the
// user (ENOSPC, fs.epoll.max_user_watches), or if the caller has a bug.
//
// A queue between threads:   producer: push; loop.Wake()      owner: loop.Wait(); drain the queue
// Everything pushed before a Wake is seen by the drain after the next Wait. A Wake costs a system
// call only when the owner sleeps.
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "net/unique_fd.h"

namespace rowsocket::net {

/// One ready descriptor. It has the layout of the kernel's event, so that Wait copies nothing.
struct Event : epoll_event {
  void* tag() const { return data.ptr; }
  uint32_t ready() const { return events; }  ///< EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR
};
static_assert(sizeof(Event) == sizeof(epoll_event));

class EventLoop {
 public:
  EventLoop() = default;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Makes the descriptors of the loop. REQUIRES: called once, before anything else.
  bool Open();

  /// The highest of the loop's own descriptors.
  int highest_fd() const { return std::max(epoll_.get(), wake_.get()); }

  /// Watches a descriptor. `events` as for epoll: EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLET; hang-up
  /// and error are always reported.
  bool Add(int fd, uint32_t events, void* tag);
  /// Watches a listener that several loops watch: a new connection wakes one of them, not all. Such
  /// a descriptor cannot be modified, only removed and added again.
  bool AddShared(int fd, void* tag);
  bool Modify(int fd, uint32_t events, void* tag);
  bool Remove(int fd);

  /// Sleeps until something is ready, Wake is called or `timeout_ms` (-1: no limit) is over.
  /// Returns the events that were filled in, none after a mere wake-up or signal.
  std::span<const Event> Wait(std::span<Event> events, int timeout_ms);

  /// Makes the current or the next Wait return at once.
  void Wake();

 private:
  /// What the owner does. kNotified: Wake was called, so that the next Wait does not sleep.
  enum class OwnerState : uint8_t { kAwake, kAsleep, kNotified };

  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<OwnerState> owner_state_{OwnerState::kAwake};
};

}  // namespace rowsocket::net
