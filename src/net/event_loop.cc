#include "net/event_loop.h"

#include <errno.h>
#include <sys/eventfd.h>

#include <utility>

#include "base/require.h"

namespace rowsocket::net {

bool EventLoop::Open() {
  ROWSOCKET_REQUIRE(!epoll_.valid());
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return false;
  wake_.Reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.valid()) return false;
  // Edge-triggered: every write is one event, so the counter never has to be read back.
  return Add(wake_.get(), EPOLLIN | EPOLLET, this);
}

bool EventLoop::Add(int fd, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool EventLoop::AddShared(int fd, void* tag) { return Add(fd, EPOLLIN | EPOLLEXCLUSIVE, tag); }

bool EventLoop::Modify(int fd, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

bool EventLoop::Remove(int fd) { return epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0; }

std::span<const Event> EventLoop::Wait(std::span<Event> events, int timeout_ms) {
  if (timeout_ms != 0) {
    OwnerState expected = OwnerState::kAwake;
    // If another thread has called Wake since the last Wait, look at what is ready, but do not
    // sleep.
    if (!owner_state_.compare_exchange_strong(expected, OwnerState::kAsleep)) timeout_ms = 0;
  }
  const int count =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  // An exchange, and not a store: the owner then sees everything that was pushed before the Wake
  // whose mark is removed here.
  owner_state_.exchange(OwnerState::kAwake);
  size_t kept = count > 0 ? static_cast<size_t>(count) : 0;
  for (size_t i = 0; i < kept; ++i) {
    if (events[i].tag() != this) continue;
    std::swap(events[i], events[--kept]);
    break;  // Epoll reports one descriptor once.
  }
  return events.first(kept);
}

void EventLoop::Wake() {
  if (owner_state_.exchange(OwnerState::kNotified) != OwnerState::kAsleep) return;
  const uint64_t one = 1;
  // write cannot fail, except for a counter at 2^64 - 1.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

}  // namespace rowsocket::net
