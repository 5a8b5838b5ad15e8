// The bytes of one socket: those received and not used yet, those to send, and how many of these
// may leave already.
//
// Flow of a turn:
//
//   OnEvents -> Receive once -> owner parses in() and appends to out() -> gate -> Send once
//            -> ReleaseEmptyBuffers -> CountBuffers -> UpdateInterest
//
// States (the rest of a connection's life lies with its owner):
//
//   kServing    reads requests, sends replies
//   kPaused     too many unsent bytes: reads nothing and should be given nothing more to do until
//               the peer has taken half of them; then kServing again
//   kDraining   the client has sent its last byte: what was received is answered, then closed
//   kLingering  the server ends it: replies are sent, then FIN; what still arrives is thrown away,
//               so that the kernel does not answer it with a reset that would destroy the last
//               reply; after kLingerBytesMax bytes the connection is reset, and kBroken
//   kBroken     reset or failed: nothing can be sent or received any more
//
// kServing leads to every later state, kPaused to all but kDraining; except from kPaused to
// kServing, states never go back.
//
// Threads: one owner.
// Lifetime: views into in() and out() live until the next Receive, Send or ReleaseEmptyBuffers. The
// descriptor is closed with the object; remove it from the event loop before that.
// Limits: in() never holds more than Receive was told; the owner limits out() by the size of
// replies, and beyond ConnectionContext::buffered_bytes_max the connection pauses. The port's
// budget limits what all connections hold together.
//
// TLS: StartTls puts a filter between the socket and in() and out(); Handshake is called until it
// is done, and from then on everything above holds as for a plain connection (connection_tls.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/buffer.h"
#include "base/require.h"
#include "net/buffer_budget.h"
#include "net/buffer_pool.h"
#include "net/event_loop.h"
#include "net/gated_output.h"
#include "net/tls_stream.h"
#include "net/unique_fd.h"

namespace rowsocket::net {

/// The objects that the connections of one worker share; they outlive the connections.
struct ConnectionContext {
  BufferPool buffers;
  size_t buffered_bytes_max = 1u << 20;
  BufferBudget* budget = nullptr;  ///< The budget of all workers of the port; null: without limit.
};

class Connection {
 public:
  /// How many bytes of a client are thrown away after the server has ended the connection, before
  /// it resets the connection.
  static constexpr uint32_t kLingerBytesMax = uint32_t{4} << 20;

  enum class State : uint8_t { kServing, kPaused, kDraining, kLingering, kBroken };

  struct Ready {
    bool receive;  ///< Call Receive.
    bool send;     ///< Call Send.
  };
  enum class ReceiveStatus : uint8_t {
    kBytes,       ///< in() may have grown.
    kWouldBlock,  ///< Nothing for the caller: the socket has no bytes, the connection wants none,
                  ///< or it has thrown them away.
    kFull,   ///< in() already holds as much as the caller allows: the caller must use some bytes,
             ///< hold the input or end the connection.
    kEof,    ///< The client has sent its last byte; the state is kDraining (or kLingering, ended).
    kError,  ///< The state is kBroken.
  };
  struct Received {
    ReceiveStatus status;
    /// The bytes put into in(), or into the stream of TLS. What kLingering throws away does not
    /// count.
    size_t bytes = 0;
    bool may_have_more = false;  ///< No event will announce further bytes: call Receive again.
  };
  enum class SendStatus : uint8_t {
    kDone,     ///< Nothing sendable is left.
    kBlocked,  ///< The kernel takes no more: UpdateInterest asks for EPOLLOUT.
    kError,    ///< The state is kBroken.
  };
  struct Sent {
    SendStatus status;
    size_t bytes = 0;  ///< Given to the socket.
  };

  /// Takes over `fd`, a nonblocking stream socket.
  Connection(UniqueFd fd, ConnectionContext& context) : fd_(std::move(fd)), context_(&context) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_.get(); }
  State state() const { return state_; }
  /// Whether the client's next requests should be executed: not while its unsent replies pile up.
  bool accepts_work() const {
    return state_ == State::kServing ||
           (state_ == State::kDraining && out_.unsent_bytes() <= context_->buffered_bytes_max);
  }
  /// Whether nothing is left to do on the socket: the owner then removes and destroys the
  /// connection when no request is under way.
  bool finished() const;

  /// The received bytes; the owner consumes what it has used.
  base::Buffer& in() { return in_; }
  /// Replies and their gate; see gated_output.h.
  GatedOutput& out() {
    if (out_.bytes().capacity() == 0) out_.bytes() = context_->buffers.Take();
    return out_;
  }
  const GatedOutput& out() const { return out_; }

  /// Tells which calls the events that the loop reported ask for.
  Ready OnEvents(uint32_t events);

  /// Copies the first bytes that the socket has, at most room.size(), without taking them off it.
  /// Empty if nothing has come; `*ended`: nothing more can come.
  std::string_view Peek(std::span<char> room, bool* ended) const;

  /// Makes the connection speak TLS from its first byte, those in in() included. REQUIRES: nothing
  /// was sent.
  void StartTls(std::unique_ptr<TlsStream> tls);
  /// Goes on with the handshake as far as the peer's bytes allow. kFailed: the state is kBroken.
  TlsStream::Status Handshake();
  /// The TLS of the connection; null on a plain one.
  const TlsStream* tls() const { return tls_.get(); }

  /// One recv. in() never grows beyond `in_bytes_max` bytes.
  Received Receive(size_t in_bytes_max);

  /// One send of the bytes that the gate lets through. Call at the end of a turn: it also pauses
  /// the connection when too much is unsent, and resumes it (requests may still wait in in()).
  Sent Send();

  /// Sets whether the owner wants more input: it wants none while its requests wait for something.
  void SetInputWanted(bool wanted) { input_wanted_ = wanted; }

  /// Ends the connection from the server's side once out() has been sent: kLingering. The peer
  /// learns that from Send, which the owner calls next, when the replies may leave.
  void Finish();
  /// Gives the connection up at once: kBroken.
  void Abort() { state_ = State::kBroken; }
  /// Gives the connection up (kBroken), but lets the peer read what was sent.
  void AbortAfterSent();

  /// End of a turn: gives empty buffers back, so that an idle connection costs this object only.
  void ReleaseEmptyBuffers();
  /// End of a turn, after ReleaseEmptyBuffers: tells the budget what this connection still holds.
  /// `owner_held_bytes`: what the owner holds for the connection besides its buffers. False if all
  /// connections together hold too much, and this one holds more than small buffers: the owner has
  /// to destroy it.
  bool CountBuffers(size_t owner_held_bytes = 0);

  /// The bytes of its buffers, and what its owner held for it, at the end of its last turn.
  size_t held_bytes() const { return held_bytes_; }

  /// The events that the state needs, of EPOLLIN and EPOLLOUT.
  uint32_t WantedEvents() const;
  /// Adds the descriptor at the first call; later calls make a system call only if the wanted
  /// events have changed. Takes the descriptor out of the loop when kBroken. False, with errno: the
  /// loop cannot watch the descriptor.
  bool UpdateInterest(EventLoop& loop, void* tag);
  /// Moves the suspended connection to another worker of the same port, whose context is `context`.
  void MoveTo(ConnectionContext& context) {
    ROWSOCKET_REQUIRE(is_suspended());
    context_ = &context;
  }
  bool is_suspended() const { return !added_; }
  /// Takes the descriptor out of the loop until the next UpdateInterest.
  void Suspend(EventLoop& loop);
  /// Suspends the connection if the loop would report its events again and again (level-triggered).
  /// For a connection that its owner does not look at for a while.
  void SuspendIfLevelTriggered(EventLoop& loop);

 private:
  Received ReceiveTls(size_t in_bytes_max);
  Received ReceiveInto(base::Buffer& buffer, size_t room_max);
  Sent SendTls();
  /// Takes a buffer for records if the connection has none. False: there is no memory for it.
  bool TakeRecordBuffer();
  /// Makes one send of the records that wait. False: the connection has failed.
  bool SendRecords(size_t* bytes);
  /// Tells the peer that nothing more comes, if the socket takes the record now. REQUIRES: nothing
  /// is left to be sent, or the connection is being destroyed.
  void SayEndOfTls();
  /// Whether nothing is left to be sent.
  bool all_sent() const { return out_.empty() && (tls_ == nullptr || tls_->to_send().empty()); }
  Received Discard();
  Received OnEof();
  Received OnReceiveError(int error);
  void ShutDownWhenSent();
  void UpdatePressure();

  base::Buffer in_;
  GatedOutput out_;
  UniqueFd fd_;
  union {  // A union, because a connection has only 128 bytes.
    /// How much room the next receive offers; it adapts to the bytes that arrive.
    uint32_t room_bytes_ = BufferPool::kBufferBytes;
    uint32_t discarded_bytes_;  ///< kLingering: how many bytes were thrown away.
  };
  ConnectionContext* context_;
  size_t held_bytes_ = 0;  ///< The bytes that were reported to the budget.
  uint32_t interest_ = 0;
  State state_ = State::kServing;
  bool input_wanted_ = true;
  bool send_blocked_ = false;  ///< The last send took less than it was offered.
  bool added_ : 1 = false;     ///< The event loop knows the descriptor.
  /// An event has said that FIN, or an error, comes after the bytes that can be received.
  bool hangs_up_ : 1 = false;
  bool peer_finished_ : 1 = false;  ///< FIN was received.
  bool fin_sent_ : 1 = false;
  std::unique_ptr<TlsStream> tls_;  ///< Null: the connection is plain.
};

}  // namespace rowsocket::net
