// The commit gate: what a connection still has to send, and how much of it may leave (I4).
//
//      sent        released           ready            held
//   -----------|---------------|----------------|----------------|
//              front           released         held from        end
//
// Bytes are sendable only after they were released; appending releases nothing. HoldGate first
// releases the bytes before it, up to the first reply that waits for a commit; that reply and all
// later bytes are released by OpenGate, when no write is left to wait for.
//
//   reads only:  append... OpenGate
//   a write:     HoldGate append... commit  OpenGate  | DropGated, append..., ...
//
// Positions count bytes since the connection began, so they stay right while bytes leave at the
// front.
//
// Threads: one owner.
// Lifetime: bytes() stays the same object; views into it as base::Buffer says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/require.h"

namespace rowsocket::net {

class GatedOutput {
 public:
  /// The bytes, for encoders, which append, or truncate to the length that bytes() had when their
  /// reply began. REQUIRES: an encoder never consumes bytes, and never truncates below
  /// sendable().size().
  base::Buffer& bytes() { return bytes_; }
  const base::Buffer& bytes() const { return bytes_; }

  /// The only bytes that may be sent.
  std::string_view sendable() const {
    Check();
    return bytes_.view().substr(0, released_ - front_);
  }
  size_t sendable_bytes() const { return released_ - front_; }
  /// How many bytes are appended and not sent yet, sendable or not.
  size_t unsent_bytes() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  bool is_gate_held() const { return held_from_ != kNotHeld; }

  /// Makes the bytes before the gate sendable: if no gate is held, all bytes appended so far.
  void ReleaseToGate() {
    if (!is_gate_held()) released_ = End();
    Check();
  }

  /// Holds the gate: bytes appended from here on wait for OpenGate. Bytes before them become
  /// sendable, unless the gate was held already.
  void HoldGate() {
    ReleaseToGate();
    if (!is_gate_held()) held_from_ = End();
  }

  /// Opens the gate: all bytes appended so far become sendable.
  void OpenGate() {
    held_from_ = kNotHeld;
    ReleaseToGate();
  }

  /// Drops all bytes that were not released, because their batch has failed and its replies are
  /// written again. A held gate stays held.
  void DropGated() {
    bytes_.Truncate(released_ - front_);
    Check();
  }

  /// Removes the first `count` bytes, which have left. REQUIRES: count <= sendable_bytes().
  void Consume(size_t count) {
    ROWSOCKET_REQUIRE(count <= sendable_bytes());
    bytes_.Consume(count);
    front_ += count;
    Check();
  }

 private:
  using Position = uint64_t;
  static constexpr Position kNotHeld = UINT64_MAX;

  /// The position of the next byte.
  Position End() const { return front_ + bytes_.size(); }

  void Check() const {
    ROWSOCKET_REQUIRE(front_ <= released_);
    // No caller has cut away bytes that are sendable.
    ROWSOCKET_REQUIRE(released_ <= End());
    // Invariant I4.
    ROWSOCKET_REQUIRE(released_ <= held_from_);
  }

  base::Buffer bytes_;
  Position front_ = 0;             ///< The position of the first byte of bytes_.
  Position released_ = 0;          ///< The end of the sendable bytes.
  Position held_from_ = kNotHeld;  ///< Where the first reply that waits for its commit begins.
};

}  // namespace rowsocket::net
