// One thread that serves connections: an event loop, an engine session and the turns in between.
//
// Flow of its loop:
//
//   Wait -> receive from every ready connection -> parse -.-> into the turn: Turn::Run -> send
//                                                         `-> into the batch: executor  -> send
//
// Connections that write go into the batch, with all their ready requests; connections that read
// are served at once. Each part of a worker owns what it looks after:
//
//   HeldReplies     replies that wait for other workers' commits
//   ClientTable     the connections: which there are, which are ready, idle, closed
//   Acceptor        taking new ones from the port's listeners
//   Logins          logins on their way to the desk and back, and the end of accounts
//   LockWaits       requests on their way to the lane and back
//   InputConsumer   what a turn has executed leaves the input; what it could not execute goes to
//                   Logins or LockWaits
//   ItemReader      items of work from what was received
//   BatchCollector  which connections write together, and the batches
//   Inbox           what other threads hand over
//
// A part may use the parts above it, which the worker declares earlier; no part sees the worker
// itself. A connection that begins with TLS is handed to the port's handshake thread, and comes
// back through Inbox.
//
// Threads: Start, AskToStop, Stop and DropMail from the port's; Adopt, GiveAway, List,
// AccountsHaveEnded, lacks_session, connections, load, Done and Admitted from any; all else on the
// worker's own.
// Lifetime: connections die with the worker.
// Limits: model::Limits.
// Errors: a failed request touches its own connection only (invariant I7).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "exec/acceptor.h"
#include "exec/batch_collector.h"
#include "exec/busy_poll.h"
#include "exec/client_table.h"
#include "exec/handshake_thread.h"
#include "exec/held_replies.h"
#include "exec/inbox.h"
#include "exec/input_consumer.h"
#include "exec/item_reader.h"
#include "exec/lock_waits.h"
#include "exec/logins.h"
#include "exec/session_thread.h"
#include "exec/turn.h"
#include "exec/wait_lane.h"
#include "exec/worker_context.h"
#include "net/event_loop.h"

namespace rowsocket::exec {

class Worker final : private WaitJobOwner, private HandshakeOwner, private LoginOwner {
 public:
  explicit Worker(const WorkerContext& context);
  /// REQUIRES: the lane has stopped, and the login desk has closed.
  ~Worker() override;

  /// Starts the thread. False when the system gives no thread or no file descriptor: errno says
  /// which.
  bool Start();
  /// Ends the loop; returns when the thread has ended and all connections are closed. A statement
  /// that takes long is interrupted.
  void Stop();
  /// Gives back the logins of connections that came after the worker had ended, because the server
  /// counts logins. REQUIRES: this worker, and all that move connections to it, have stopped.
  void DropMail();
  void AskToStop();

  /// Takes over a new connection.
  void Adopt(net::UniqueFd fd);
  /// The count that GiveAway gets to give all connections away: it is never counted down.
  static constexpr uint32_t kGiveAllAway = UINT32_MAX;
  /// Hands the next `count` connections that send something over to `target`.
  void GiveAway(Worker* target, uint32_t count);
  /// Adds all connections to the list.
  void List(std::shared_ptr<ConnectionList> list) {
    // A worker that has ended has no connections, like a port that is closed.
    if (thread_.HasEnded()) return list->Add({});
    inbox_.Put(std::move(list));
  }
  /// Closes the connections of accounts that have ended, soon.
  void AccountsHaveEnded() { inbox_.PutAccountsHaveEnded(); }

  /// Whether the worker serves nobody, because the server had no memory for its session.
  bool lacks_session() const { return lacks_session_.load(); }
  uint32_t connections() const { return clients_.count(); }
  const WorkerLoad& load() const { return core_.load; }

 private:
  void Done(WaitJobs jobs) override;
  void Admitted(std::unique_ptr<Client> client) override;
  void Done(std::unique_ptr<LoginJob> job) override { inbox_.Put(std::move(job)); }

  // The thread (worker.cc).
  void Main(engine::Session* session);
  bool MayServe(engine::Session& session);
  bool AwaitAccount(engine::Session& session);
  /// Logs what memory lacks for. `lacking`: the line up to the parenthesis in which the port's mode
  /// follows; `consequence`: the line after it. Without memory for the line it is lost.
  void LogWithoutMemory(const char* lacking, const char* consequence) const;
  void ShutListeners() const;
  void ServeNobody();
  void TurnAway();
  void Loop(engine::Session& session);
  std::span<const net::Event> WaitForEvents(int timeout_ms);
  void HandleEvents(int timeout_ms);
  void CloseExpired(int64_t polled_ms);
  void Accept(net::Listener& listener);
  void HandleEvent(Client& client, uint32_t ready);
  /// False if this worker is not to read what the client has sent: the client speaks TLS, or has
  /// to, or its first byte has yet to come.
  bool Admit(Client& client);
  void RefusePlain(Client& client, std::string_view begin);
  bool GiveIfAsked(Client& client);
  void TakeInbox(engine::Session& session);
  void BeginBusyPoll();
  bool IsBusyPolling();
  void EndBusyPoll(bool found);
  /// Sends the held replies whose commits have ended. `session` null: the worker ends, and nothing
  /// is logged.
  void TakeHeld(engine::Session* session);
  void AddTo(ConnectionList& list) const;
  void ReleaseIdleTables(engine::Session& session);
  /// Frees buffers that no connection has used lately, gives the process list a new text, and
  /// begins a new count of active clients. Does nothing if it has done so a moment ago.
  void DoChores(engine::Session& session);
  void DescribeTo(engine::Session& session);

  // Turns (worker_turn.cc).
  void RunTurn(engine::Session& session);
  void ClearArena();
  void Prepare(engine::Session& session);
  bool IsParsingLong() const;
  void TakeInput(Client& client, engine::Session& session);
  void ReceiveFrom(Client& client);
  void Parse(Client& client, engine::Session& session);
  void ParseIntoTurn(Client& client, engine::Session& session, uint32_t places);
  void AfterTurn(engine::Session& session);
  uint64_t MarkUndurable(engine::Session& session);
  bool EndTurnOf(Client& client, uint64_t commit);

  WorkerCore core_;
  HeldReplies held_;
  ClientTable clients_;
  Acceptor acceptor_;
  Logins logins_;
  LockWaits waits_;
  InputConsumer input_;
  ItemReader reader_;
  std::unique_ptr<BatchCollector> batches_;  ///< Null on a port that only reads.
  Inbox inbox_;

  Turn turn_;
  AccountPlaces places_;  ///< The places that accounts have in the turn.
  /// What the items of the turn point to; shared with batches that have taken items over.
  std::shared_ptr<base::Arena> arena_ = std::make_shared<base::Arena>();
  std::vector<net::Event> events_;
  bool may_have_more_events_ = false;  ///< The last poll was full.
  size_t events_taken_ = 0;            ///< In the polls since full_from_ms_.
  int64_t full_from_ms_ = 0;           ///< When the first of the polls came that have been full.
  BusyPoll busy_poll_;
  int64_t chores_done_ms_ = 0;  ///< When DoChores last did something.

  std::atomic<Worker*> give_to_{nullptr};  ///< The target of GiveAway.
  std::atomic<uint32_t> give_count_{0};    ///< How many connections are yet to go to give_to_.
  std::atomic<bool> lacks_session_{false};
  std::atomic<bool> stopping_{false};
  /// When Stop, on whose thread it is used, begins to interrupt the worker's statements.
  SessionThread::Clock::time_point interrupt_from_;
  SessionThread thread_;
};

}  // namespace rowsocket::exec
