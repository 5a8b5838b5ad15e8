// A connection, as the parts of its worker see it.
//
// Threads: the handshake thread's until the worker gets it, then the worker's. While the client is
// away, its frontend is used by the thread that has its items, and its SSL object by the thread
// that checks its login.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/require.h"
#include "engine/login.h"
#include "exec/account_limits.h"
#include "exec/connection_book.h"
#include "exec/frontend.h"
#include "exec/linked_queue.h"
#include "exec/turn.h"
#include "net/connection.h"
#include "net/idle_list.h"

namespace rowsocket::exec {

struct WaitJob;

/// Why a worker leaves a connection alone: the worker neither receives nor parses anything of the
/// connection until it is back. Events on its socket are noted meanwhile.
///
///   kNo -> kAwaitsBatch | kInBatch | kHeld | kInLane | kLoggingIn -> kNo
///   kInLane -> kHeldInLane -> kHeld (the lane is done first) | kInLane (the commits end first)
///   kHeldInLane -> kNo (the client is retired, and the lane has not begun)
///   kHeld -> kHeld (the lane has executed one more find)
enum class Away : uint8_t {
  kNo,
  kAwaitsBatch,  ///< The client's next request writes, and no batch has room.
  kInBatch,      ///< The client's items are in a batch.
  kHeld,         ///< A find may have seen what is being committed: replies wait for the end.
  kInLane,       ///< The lane has a request; replies to earlier requests may leave.
  kHeldInLane,   ///< The lane has a request, and replies to earlier requests are held.
  kLoggingIn,    ///< The login desk has the login; without TLS earlier replies may leave.
};

/// Whether the step from `before` to `after` is one of those that Away's comment shows.
inline bool MayFollow(Away before, Away after) {
  switch (before) {
    case Away::kNo:
      return after != Away::kNo && after != Away::kHeldInLane;
    case Away::kInLane:
      return after == Away::kNo || after == Away::kHeldInLane;
    case Away::kHeldInLane:
      return after == Away::kHeld || after == Away::kInLane || after == Away::kNo;
    case Away::kHeld:
      return after == Away::kNo || after == Away::kHeld;
    case Away::kAwaitsBatch:
    case Away::kInBatch:
    case Away::kLoggingIn:
      return after == Away::kNo;
  }
  return false;
}

class HandshakeOwner;

struct Client : net::IdleLink {
  enum class Life : uint8_t {
    kNew,  ///< The client's first byte, which has yet to come, says whether it speaks TLS.
    kServed,
    kRetired,  ///< The connection is closed; whatever still comes for it is dropped.
  };

  Client(net::UniqueFd fd, net::ConnectionContext& context, std::unique_ptr<Frontend> made)
      : connection(std::move(fd), context), frontend(std::move(made)) {}

  net::Connection connection;
  /// Declared after `connection`, so that the client leaves the book before its socket is closed.
  BookedConnection booked;
  std::unique_ptr<Frontend> frontend;
  TurnClient turn;
  size_t parsed = 0;       ///< Bytes of input that this turn's items and skipped bytes take.
  size_t charged = 0;      ///< Bytes of input whose requests its account's budget has paid for.
  size_t table_index = 0;  ///< The client's index in ClientTable::clients_.
  bool is_ready = false;   ///< The client is in ClientTable::ready.
  bool can_receive = false;
  bool has_more = false;       ///< The input may hold more complete requests.
  bool has_requests = false;   ///< Requests of this connection are in the turn.
  bool is_writer = false;      ///< The last requests had a write: the next go into a batch.
  bool closes = false;         ///< The last item of this turn ends the connection.
  bool lane_must_run = false;  ///< The lane handed the last job back: it executes the next one.
  bool wipes_unused = false;   ///< Parts of a password may lie behind the input: see WipeUnused.
  Life life = Life::kServed;
  int64_t connected_ms = 0;
  /// When the first request of the input was complete; if a turn has answered requests before
  /// it, when the last byte before that turn was received. By base::NowNs.
  int64_t oldest_ns = 0;
  int64_t newest_ns = 0;  ///< When the last byte was received.
  /// How long the first request of the input was in the lane, which has handed it back, or has only
  /// opened a table for it.
  int64_t handed_back_ns = 0;
  uint32_t active_in = 0;      ///< The last period in which the client sent something (WorkerPool).
  uint8_t login_failures = 0;  ///< Logins refused since the last one that was accepted.
  /// What the login desk gets when the connection ends; null: the client has not logged in with an
  /// account.
  std::unique_ptr<engine::LoginTicket> ticket;
  uint64_t ticket_account = 0;  ///< The id of the ticket's account.
  WaitJob* job = nullptr;       ///< The client's job while it is in the lane or in the inbox.
  /// What is left of the requests of an account; null until the first request asks for it.
  std::shared_ptr<AccountBudget> budget;
  uint64_t budget_account = 0;                ///< The id of the account that has `budget`.
  HandshakeOwner* handshake_owner = nullptr;  ///< Gets the client back from the handshake thread.
  Client* next_in_queue = nullptr;            ///< The link of ClientQueue.

  /// Notes when bytes were received. `was_empty`: the input had no byte before them. A request's
  /// time begins with its last byte, because the time that a client takes to send it in pieces is
  /// not the server's.
  void NoteReceived(int64_t now_ns, bool was_empty) {
    newest_ns = now_ns;
    if (was_empty || !has_more) oldest_ns = now_ns;
  }
  /// Takes requests off the front of the input: they are answered, or the lane or the login desk
  /// has them.
  void Consume(size_t bytes) {
    if (bytes == 0) return;
    connection.in().Consume(bytes);
    WipeUnused();
    handed_back_ns = 0;
    if (!connection.in().empty()) oldest_ns = newest_ns;
    charged -= std::min(charged, bytes);
  }

  /// Wipes the memory behind the input if it may hold parts of a password. Call it when input was
  /// taken off the front, and before the connection gives its buffers back.
  void WipeUnused() {
    if (!wipes_unused) [[likely]]
      return;
    connection.in().WipeUnused();
    wipes_unused = false;
  }

  bool is_new() const { return life == Life::kNew; }
  bool is_retired() const { return life == Life::kRetired; }

  Away away() const { return away_; }
  /// REQUIRES: MayFollow(away(), next).
  void SetAway(Away next) {
    ROWSOCKET_REQUIRE(MayFollow(away_, next));
    const bool waited = is_in_lane();
    away_ = next;
    if (is_in_lane() != waited) frontend->ShowWaits(!waited);
  }
  bool is_away() const { return away_ != Away::kNo; }
  bool is_in_lane() const { return away_ == Away::kInLane || away_ == Away::kHeldInLane; }
  bool is_held() const { return away_ == Away::kHeld || away_ == Away::kHeldInLane; }
  /// Whether replies to earlier requests may leave while the client is away. A thread that checks a
  /// login asks the SSL object about the client, which no other thread may use meanwhile.
  bool may_send() const {
    if (away_ == Away::kLoggingIn) return tls() == nullptr;
    return away_ == Away::kNo || away_ == Away::kInLane;
  }
  /// Whether another thread has the client and is to give it back: the client is not freed before.
  bool is_elsewhere() const { return is_in_lane() || away_ == Away::kLoggingIn; }
  /// The SSL object of the connection; null: what passes is not encrypted.
  ssl_st* tls() const { return connection.tls() != nullptr ? connection.tls()->ssl() : nullptr; }
  /// Whether a full turn has executed none of the client's items, or had no place for them.
  bool was_passed_over() const {
    return turn.stopped() ? turn.stopped_at->input_begin == 0 : has_more && parsed == 0;
  }

 private:
  Away away_ = Away::kNo;
};

using ClientQueue = LinkedQueue<Client>;

}  // namespace rowsocket::exec
