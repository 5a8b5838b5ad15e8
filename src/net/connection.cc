#include "net/connection.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/would_block.h"

namespace rowsocket::net {

namespace {

/// The bounds of the room that one Receive offers; between them, the room adapts to the bytes that
/// arrive.
constexpr uint32_t kReceiveBytesMin = BufferPool::kBufferBytes;
constexpr uint32_t kReceiveBytesMax = BufferPool::kBufferBytesMax;

/// The loop reports an event once, and not until the bytes have been received, so that the kernel
/// looks at the socket half as often.
constexpr uint32_t kEdges = uint32_t{EPOLLIN} | EPOLLRDHUP | EPOLLET;

}  // namespace

// 10,000 idle connections must cost little: an idle connection has no buffers, only this object.
static_assert(sizeof(Connection) <= 128);

Connection::~Connection() {
  if (tls_ != nullptr) [[unlikely]]
    SayEndOfTls();
  if (held_bytes_ != 0) context_->budget->Change(held_bytes_, 0);
  context_->buffers.Give(in_);
  context_->buffers.Give(out_.bytes());
}

bool Connection::finished() const {
  switch (state_) {
    case State::kServing:
    case State::kPaused:
      return false;
    case State::kDraining:
      return all_sent();
    case State::kLingering:
      return all_sent() && peer_finished_;
    case State::kBroken:
      return true;
  }
  return true;
}

Connection::Ready Connection::OnEvents(uint32_t events) {
  const bool reads = (WantedEvents() & EPOLLIN) != 0;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && !reads) {
    // Both directions are dead. While the connection reads, recv tells what came before the
    // failure; otherwise nothing would ever take the event away.
    Abort();
  }
  if (state_ == State::kBroken) return {false, false};
  const bool hangs_up = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  hangs_up_ = hangs_up_ || hangs_up;
  return {reads && (hangs_up || (events & EPOLLIN) != 0),
          send_blocked_ && (events & EPOLLOUT) != 0};
}

std::string_view Connection::Peek(std::span<char> room, bool* ended) const {
  const ssize_t count = recv(fd_.get(), room.data(), room.size(), MSG_PEEK);
  *ended = count == 0 || (count < 0 && !IsWouldBlock(errno));
  return {room.data(), count > 0 ? static_cast<size_t>(count) : 0};
}

Connection::Received Connection::Receive(size_t in_bytes_max) {
  if (state_ == State::kBroken) return {ReceiveStatus::kError};
  if ((WantedEvents() & EPOLLIN) == 0) {
    // When input is wanted again, the loop reports what the socket has, but not what is left in the
    // stream.
    const bool has_left_over =
        state_ == State::kPaused && tls_ != nullptr && tls_->has_undecrypted();
    return {ReceiveStatus::kWouldBlock, 0, has_left_over};
  }
  if (state_ == State::kLingering) return Discard();
  if (in_.size() >= in_bytes_max) return {ReceiveStatus::kFull, 0, true};
  if (tls_ != nullptr) [[unlikely]]
    return ReceiveTls(in_bytes_max);
  return ReceiveInto(in_, in_bytes_max - in_.size());
}

// Asks the buffer for half of the room, so that the rest of a line at its front does not make it
// grow; but uses all the room that it has.
Connection::Received Connection::ReceiveInto(base::Buffer& buffer, size_t room_max) {
  if (buffer.capacity() == 0) buffer = context_->buffers.Take();
  char* room = buffer.Room(room_bytes_ / 2);
  const size_t offered = std::min({buffer.room(), room_max, size_t{kReceiveBytesMax}});
  const ssize_t received = recv(fd_.get(), room, offered, 0);
  if (received == 0) return OnEof();
  if (received < 0) return OnReceiveError(errno);

  const size_t bytes = static_cast<size_t>(received);
  buffer.Commit(bytes);
  if (bytes == offered) {
    room_bytes_ = std::min(2 * room_bytes_, kReceiveBytesMax);
  } else if (bytes < room_bytes_ / 4) {
    room_bytes_ = std::max(room_bytes_ / 2, kReceiveBytesMin);
  }
  // A stream gives fewer bytes than it is asked for when there are no more: epoll(7). Out-of-band
  // data ends a receive, too: a client that sends such data is served again when its next bytes
  // come.
  return {ReceiveStatus::kBytes, bytes, bytes == offered || hangs_up_};
}

Connection::Received Connection::Discard() {
  char thrown_away[16 * 1024];
  const ssize_t received = recv(fd_.get(), thrown_away, sizeof(thrown_away), 0);
  if (received == 0) return OnEof();
  if (received < 0) return OnReceiveError(errno);
  discarded_bytes_ += static_cast<uint32_t>(received);
  // Even if replies are left: otherwise a client that takes none of them could go on for ever.
  if (discarded_bytes_ > kLingerBytesMax) {
    Abort();
    return {ReceiveStatus::kError};
  }
  return {ReceiveStatus::kWouldBlock};
}

Connection::Received Connection::OnEof() {
  peer_finished_ = true;
  if (state_ == State::kServing) state_ = State::kDraining;
  return {ReceiveStatus::kEof};
}

Connection::Received Connection::OnReceiveError(int error) {
  if (IsWouldBlock(error)) return {ReceiveStatus::kWouldBlock, 0, error == EINTR};
  Abort();
  return {ReceiveStatus::kError};
}

Connection::Sent Connection::Send() {
  if (state_ == State::kBroken) return {SendStatus::kError};
  if (tls_ != nullptr) [[unlikely]]
    return SendTls();
  size_t bytes = 0;
  const std::string_view sendable = out_.sendable();
  if (!sendable.empty()) {
    const ssize_t sent = send(fd_.get(), sendable.data(), sendable.size(), MSG_NOSIGNAL);
    if (sent < 0 && !IsWouldBlock(errno)) {
      Abort();
      return {SendStatus::kError};
    }
    bytes = sent > 0 ? static_cast<size_t>(sent) : 0;
    out_.Consume(bytes);
  }
  send_blocked_ = out_.sendable_bytes() != 0;
  UpdatePressure();
  ShutDownWhenSent();
  return {send_blocked_ ? SendStatus::kBlocked : SendStatus::kDone, bytes};
}

void Connection::Finish() {
  if (state_ == State::kBroken) return;
  if (state_ != State::kLingering) discarded_bytes_ = 0;
  state_ = State::kLingering;
  in_.Consume(in_.size());
  if (tls_ != nullptr) tls_->received().Consume(tls_->received().size());
}

// A socket that is closed while it holds bytes that nobody has read resets the connection, and the
// peer may lose what was sent last, such as the alert that says why a handshake has failed.
void Connection::AbortAfterSent() {
  constexpr int kReadsMax = 16;
  constexpr size_t kReadBytes = 64 * 1024;
  shutdown(fd_.get(), SHUT_WR);
  for (int i = 0; i < kReadsMax; ++i) {
    if (recv(fd_.get(), nullptr, kReadBytes, MSG_TRUNC | MSG_DONTWAIT) <= 0) break;
  }
  Abort();
}

void Connection::ReleaseEmptyBuffers() {
  if (in_.empty() && in_.capacity() != 0) context_->buffers.Give(in_);
  if (out_.empty() && out_.bytes().capacity() != 0) context_->buffers.Give(out_.bytes());
  if (tls_ == nullptr) [[likely]]
    return;
  for (base::Buffer* records : {&tls_->received(), &tls_->to_send()}) {
    if (records->empty() && records->capacity() != 0) context_->buffers.Give(*records);
  }
}

bool Connection::CountBuffers(size_t owner_held_bytes) {
  const auto held_now = [this, owner_held_bytes] {
    const size_t records = tls_ == nullptr ? 0 : tls_->held_bytes();
    return in_.capacity() + out_.bytes().capacity() + records + owner_held_bytes;
  };
  // The usual case: no cache line of another thread is written to.
  if (held_now() == held_bytes_ && held_bytes_ <= BufferPool::kBufferBytesMax) return true;
  if (context_->budget == nullptr) return true;
  const auto may_stay = [this](size_t bytes) {
    const bool fits = context_->budget->Change(std::exchange(held_bytes_, bytes), bytes);
    return fits || bytes <= BufferPool::kBufferBytesMax;
  };
  if (may_stay(held_now())) return true;
  ReleaseEmptyBuffers();
  if (may_stay(held_now())) return true;
  // The bytes leave the budget now: otherwise the connections that are looked at next would be
  // closed because of them.
  may_stay(0);
  return false;
}

uint32_t Connection::WantedEvents() const {
  if (state_ == State::kBroken) return 0;
  const uint32_t sends = send_blocked_ ? uint32_t{EPOLLOUT} : 0;
  if (state_ == State::kServing && input_wanted_) return kEdges | sends;
  const bool reads = state_ == State::kLingering && !peer_finished_;
  return (reads ? uint32_t{EPOLLIN} : 0) | sends;
}

bool Connection::UpdateInterest(EventLoop& loop, void* tag) {
  if (state_ == State::kBroken) {
    // A hang-up is reported in every Wait, even if no event is wanted, and the owner may have to
    // keep the object for a while because of a request under way.
    if (added_) loop.Remove(fd_.get());
    added_ = false;
    return true;
  }
  const uint32_t wanted = WantedEvents();
  if (added_ && wanted == interest_) return true;
  const bool done = added_ ? loop.Modify(fd_.get(), wanted, tag) : loop.Add(fd_.get(), wanted, tag);
  if (!done) return false;
  added_ = true;
  interest_ = wanted;
  return true;
}

void Connection::Suspend(EventLoop& loop) {
  if (added_) loop.Remove(fd_.get());
  added_ = false;
}

void Connection::SuspendIfLevelTriggered(EventLoop& loop) {
  if ((interest_ & EPOLLET) == 0) Suspend(loop);
}

void Connection::ShutDownWhenSent() {
  if (state_ != State::kLingering || fin_sent_ || !all_sent()) return;
  if (tls_ != nullptr) [[unlikely]] {
    SayEndOfTls();
    send_blocked_ = !tls_->to_send().empty();
    if (send_blocked_) return;
  }
  fin_sent_ = true;
  shutdown(fd_.get(), SHUT_WR);
}

void Connection::UpdatePressure() {
  const size_t unsent = out_.unsent_bytes() + (tls_ == nullptr ? 0 : tls_->to_send().size());
  const size_t unsent_max = context_->buffered_bytes_max;
  if (state_ == State::kServing && unsent > unsent_max) state_ = State::kPaused;
  if (state_ == State::kPaused && unsent <= unsent_max / 2) state_ = State::kServing;
}

}  // namespace rowsocket::net
