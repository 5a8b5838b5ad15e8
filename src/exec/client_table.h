// The connections of a worker: which are open, which have something to do, how they are closed.
//
// Flow: Add or AddMoved; then, again and again, MarkReady, the worker takes `ready`, Send; then
// Retire and FreeRetired, or Release if the connection moves to another worker. A connection is
// closed with Retire, at any time, and freed with FreeRetired, when nothing in the round refers to
// it any more. A connection whose request the lane has is freed when the lane has given the request
// back.
//
// Threads: the worker's; CountComing, CountGone, count and connection_context from any.
// Lifetime: connections die with the table, whose destructor requires that the lane has stopped.
// Errors: a connection that cannot be served is closed, counted, and told to the log once a minute.
// Serving a client asks for no memory: Add and AddMoved reserve room for all that the client needs
// later. A line for the log is left out where there is no memory for it; Describe may throw
// std::bad_alloc.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/client.h"
#include "exec/connection_list.h"
#include "exec/held_replies.h"
#include "exec/refusal.h"
#include "exec/worker_context.h"
#include "net/connection.h"
#include "net/idle_list.h"
#include "net/unique_fd.h"

namespace rowsocket::exec {

class ClientTable {
 public:
  ClientTable(WorkerCore& core, HeldReplies& held);
  ~ClientTable();
  ClientTable(const ClientTable&) = delete;
  ClientTable& operator=(const ClientTable&) = delete;

  size_t size() const { return clients_.size(); }
  const std::vector<Client*>& all() const { return clients_; }
  /// How many connections there are, including those on their way to this worker.
  uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  /// Counts a connection that is on its way to this worker: Add or AddMoved is called next.
  void CountComing() { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts a connection that has left, or that does not come after CountComing.
  void CountGone() { count_.fetch_sub(1, std::memory_order_relaxed); }
  void Add(net::UniqueFd fd);
  void AddMoved(std::unique_ptr<Client> moved);
  /// Counts a client as lost that AddMoved has no memory for. The caller closes the connection.
  void LoseMoved(Client& client);
  /// Whether nothing of the client is under way, so that it may move to another worker.
  bool MayMove(const Client& client) const;
  /// Takes the client out of the table, for another worker that expects it.
  std::unique_ptr<Client> Release(Client& client);
  /// What is known about the client, also while it is away.
  ConnectionInfo Describe(const Client& client, bool has_address) const;
  net::ConnectionContext& connection_context() { return connection_context_; }

  /// The clients that have, or may have, requests for the next turn.
  std::vector<Client*>& ready() { return ready_; }
  /// The clients of this round, those in batches included. There is room for as many as can be
  /// ready.
  std::vector<Client*>& in_turn() { return in_turn_; }
  void MarkReady(Client& client) {
    if (client.is_ready || client.is_away() || client.is_retired()) return;
    client.is_ready = true;
    ready_.push_back(&client);
    CountActive(client);
  }
  /// Notes that the client has just done something. If the client is no longer authenticated,
  /// its deadline begins.
  void Touch(Client& client) {
    if (!has_deadline(client)) return idle_.Touch(client, core_.clock.now_ms);
    if (idle_.Holds(client)) [[unlikely]]
      unauthenticated_.Insert(client, core_.clock.now_ms);
  }
  /// Sends the replies that may leave, and sets what the loop watches on the socket next.
  void Send(Client& client);
  /// Sends the replies that may leave, then counts what the client holds together with the
  /// `job_bytes` of a request that is to wait in the lane. False: that is too much, and the client
  /// is to be lost before the lane has the request.
  bool CountWait(Client& client, size_t job_bytes);
  /// Sends the replies of a client that is away no more, which is ready if it may have sent more.
  void ComeBack(Client& client);

  /// Closes the connection; FreeRetired or FreeOrphan frees the client.
  void Retire(Client& client);
  /// Retires the client without an answer, and tells the log why.
  void Lose(Client& client, Loss loss);
  /// Counts a connection that could not be taken, or a listener that cannot be watched, and tells
  /// the log why. `error`: what errno says, for kNotAccepted and kNotWatched.
  void CountRefused(Refusal why, int error = 0);
  /// Closes the connections whose time is over. `polled_ms`: when the loop last looked at the
  /// sockets. Bytes that came while the worker was in a turn count as activity.
  void CloseExpired(int64_t polled_ms);
  void CloseAll();
  void FreeRetired();
  /// Frees a client that was retired while the lane or the login desk had its request, which they
  /// have given back.
  void FreeOrphan(Client& client);

 private:
  /// Until it has authenticated, a connection has a deadline that nothing it does puts off.
  bool has_deadline(const Client& client) const {
    return unauthenticated_.timeout_ms() != 0 && !client.frontend->authenticated();
  }
  void MakeRoom();
  void Remember(std::unique_ptr<Client> client);
  void Forget(Client& client);
  void CountActive(Client& client);
  void SendReplies(Client& client);
  void SendOfAway(Client& client);
  /// Loses a client that the loop cannot watch again, after its move or while it was away.
  /// `error`: what errno says.
  void LoseUnwatched(Client& client, int error);
  void LogLoss(Loss loss);
  std::string WhyLost(Loss loss) const;
  std::string WhyRefused(Refusal refusal, int error) const;
  template <typename MakeText>
  void Log(std::optional<int64_t>* logged_ms, MakeText make);

  WorkerCore& core_;
  HeldReplies& held_;
  net::ConnectionContext connection_context_;
  std::atomic<uint32_t> count_{0};
  std::vector<Client*> clients_;  ///< All clients; each knows its index.
  std::vector<Client*> ready_;
  std::vector<Client*> in_turn_;
  std::vector<Client*> retired_;  ///< Closed; freed when the turn is over.
  std::vector<Client*> orphans_;  ///< Closed, but the lane or the login desk has their request.
  net::IdleList<Client> idle_{0};
  net::IdleList<Client> unauthenticated_{0};
  /// When the last line was written about each Loss, and about each Refusal.
  std::array<std::optional<int64_t>, kLosses> losses_logged_ms_;
  std::array<std::optional<int64_t>, kRefusals> refusals_logged_ms_;
  /// When the last line was written about connections that can no longer be watched.
  std::optional<int64_t> unwatched_logged_ms_;
};

}  // namespace rowsocket::exec
