// The parts of a connection that only a TLS connection needs.
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/require.h"
#include "net/connection.h"
#include "net/would_block.h"

namespace rowsocket::net {

namespace {

/// How many times Send encrypts and sends before other connections get their turn: 1 MiB.
constexpr unsigned kSendRoundsMax = 16;
/// Bytes of records that one receive may take off the socket before OpenSSL has used them.
constexpr size_t kRecordRoomBytes = BufferPool::kBufferBytesMax;

}  // namespace

void Connection::StartTls(std::unique_ptr<TlsStream> tls) {
  ROWSOCKET_REQUIRE(tls_ == nullptr && tls != nullptr && out_.empty());
  tls_ = std::move(tls);
  std::swap(in_, tls_->received());
}

// The kernel reports bytes once, so all of them are received. The loop ends, because OpenSSL
// refuses handshakes that are longer than a chain of certificates can make them.
TlsStream::Status Connection::Handshake() {
  if (state_ == State::kBroken) return TlsStream::Status::kFailed;
  for (;;) {
    const TlsStream::Status status = tls_->Handshake();
    size_t sent = 0;
    const bool reachable = SendRecords(&sent);
    send_blocked_ = !tls_->to_send().empty();
    const bool goes_on = status == TlsStream::Status::kNeedsInput && reachable;
    if (status == TlsStream::Status::kDone && reachable) return status;
    if (goes_on) {
      const Received received = ReceiveInto(tls_->received(), kRecordRoomBytes);
      if (received.status == ReceiveStatus::kBytes) continue;
      if (received.status == ReceiveStatus::kWouldBlock && !received.may_have_more) return status;
      if (received.status == ReceiveStatus::kWouldBlock) continue;
    }
    Abort();
    return TlsStream::Status::kFailed;
  }
}

Connection::Received Connection::ReceiveTls(size_t in_bytes_max) {
  if (in_.capacity() == 0) in_ = context_->buffers.Take();
  Received received{ReceiveStatus::kBytes, 0, true};
  if (!tls_->has_undecrypted()) {
    received = ReceiveInto(tls_->received(), kRecordRoomBytes);
    if (received.status != ReceiveStatus::kBytes) return received;
  }
  switch (tls_->Decrypt(in_, in_bytes_max)) {
    case TlsStream::Status::kNeedsInput:
      break;
    case TlsStream::Status::kDone:
      received.may_have_more = true;  // No event will report what is left in the stream.
      break;
    case TlsStream::Status::kEnd: {
      const size_t bytes = received.bytes;
      received = OnEof();
      received.bytes = bytes;
      break;
    }
    case TlsStream::Status::kFailed: {
      size_t sent = 0;
      SendRecords(&sent);  // The alert.
      Abort();
      received.status = ReceiveStatus::kError;
      received.may_have_more = false;
      break;
    }
  }
  return received;
}

bool Connection::SendRecords(size_t* bytes) {
  base::Buffer& records = tls_->to_send();
  if (records.empty()) return true;
  const std::string_view view = records.view();
  const ssize_t sent = send(fd_.get(), view.data(), view.size(), MSG_NOSIGNAL);
  if (sent < 0 && !IsWouldBlock(errno)) return false;
  if (sent > 0) {
    records.Consume(static_cast<size_t>(sent));
    *bytes += static_cast<size_t>(sent);
  }
  return true;
}

bool Connection::TakeRecordBuffer() {
  if (tls_->to_send().capacity() != 0 || out_.sendable_bytes() == 0) return true;
  try {
    tls_->to_send() = context_->buffers.Take();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Usually one send is enough; a reply of more than TlsStream::kCipherBytesMax takes several.
Connection::Sent Connection::SendTls() {
  size_t bytes = 0;
  for (unsigned round = 1;; ++round) {
    if (!TakeRecordBuffer() || !tls_->Encrypt(out_) || !SendRecords(&bytes)) {
      Abort();
      return {SendStatus::kError, bytes};
    }
    if (!tls_->to_send().empty() || out_.sendable_bytes() == 0) break;
    if (round < kSendRoundsMax) continue;
    // The socket takes more, so no event would come: the changed interest makes UpdateInterest ask
    // the kernel anew.
    interest_ = ~WantedEvents();
    break;
  }
  send_blocked_ = !tls_->to_send().empty() || out_.sendable_bytes() != 0;
  UpdatePressure();
  ShutDownWhenSent();
  return {send_blocked_ ? SendStatus::kBlocked : SendStatus::kDone, bytes};
}

void Connection::SayEndOfTls() {
  if (state_ == State::kBroken || !tls_->to_send().empty() || !out_.empty()) return;
  tls_->SayEnd();
  size_t sent = 0;
  SendRecords(&sent);
}

}  // namespace rowsocket::net
