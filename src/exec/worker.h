// One thread that serves connections: an event loop, an engine session and the turns in between.
//
// Flow of its loop:
//   Wait -> receive from every ready connection -> parse -.-> into the turn: Turn::Run -> send
//                                                         `-> into the batch: executor  -> send
// Connections that write go into the batch, with all that they have ready; those that read are
// served at once. What a worker shares with others: its inbox (new connections, finished lock
// waits), its executor's (batches that are done) and the board of commits (commit_board.h).
//
// A connection is away while its request is in the lane, or its items in a batch, or it waits for
// a batch, or its finds may have seen what is not durable yet: then nothing is received from it,
// parsed or sent, and what happens on its socket is looked at when it is back.
//
// Threads: Start, AskToStop and Stop from the service's; Adopt, GiveAway and Done from any; all
// else on the worker's own. Lifetime: connections die with the worker. Limits: model::Limits.
// Errors: a failed request touches its own connection only (invariant I7).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "exec/batch_executor.h"
#include "exec/commit_board.h"
#include "exec/crew.h"
#include "exec/frontend.h"
#include "exec/session_thread.h"
#include "exec/stats.h"
#include "exec/turn.h"
#include "exec/wait_lane.h"
#include "model/limits.h"
#include "net/connection.h"
#include "net/event_loop.h"
#include "net/idle_list.h"
#include "net/listener.h"

namespace rowsocket::exec {

class Worker;

/// What all workers of one port share.
struct WorkerContext {
  engine::SessionFactory* sessions = nullptr;
  StatRegistry* stats = nullptr;
  WaitLane* lane = nullptr;
  CommitBoard* commits = nullptr;  ///< Also of all other ports.
  std::function<std::unique_ptr<Frontend>()> make_frontend;
  std::vector<net::Listener>* listeners = nullptr;
  Crew* crew = nullptr;
  /// Gives a new connection to the emptiest worker; false when there are too many.
  std::function<bool(net::UniqueFd)> assign;
  std::function<void(const std::string&)> log;
  model::Limits limits;
  std::string name;                  ///< For the process list: "mode=rd".
  std::string connections_variable;  ///< Says how many may be open: for messages.
  std::string memory_variable;       ///< Says what they may hold in buffers: the same.
  net::BufferBudget* budget = nullptr;
  bool writes = false;                                      ///< The frontends let writes through.
  std::function<void(engine::Session&, bool now)> prepare;  ///< See ServiceSettings.
};

class Worker final : public WaitJobOwner, private CommitBoard::Watcher {
 public:
  explicit Worker(const WorkerContext& context);
  /// REQUIRES: the lane has stopped.
  ~Worker() override;

  /// False when no thread or file descriptor can be had: errno says which.
  bool Start();
  /// Ends the loop; returns when the thread has ended and all connections are closed. A statement
  /// that takes long is interrupted.
  void Stop();
  void AskToStop();

  void Adopt(net::UniqueFd fd);
  void Done(WaitJobs jobs) override;
  /// Hands the next `count` connections that send something over to `target`.
  void GiveAway(Worker* target, uint32_t count);

  uint32_t connections() const { return connections_.load(std::memory_order_relaxed); }
  const WorkerLoad& load() const { return load_; }

 private:
  struct Client;
  struct ClientBatch;
  /// Where a client's items go: the turn, or the batch.
  struct Place {
    Turn& turn;
    base::Arena& arena;
  };
  enum class Parsed : uint8_t { kMore, kEnd, kWrite };

  // The thread (worker.cc).
  void Main(engine::Session* session);
  void Loop(engine::Session& session);
  void HandleEvents(int timeout_ms);
  std::span<const net::Event> WaitForEvents(int timeout_ms);
  void TakeInbox();
  void ReleaseIdleTables(engine::Session& session);
  void DescribeTo(engine::Session& session);

  // Connections come and go (worker_clients.cc).
  void Listen();
  void Accept(net::Listener& listener);
  void PauseAccepting(const char* why);
  void Refuse(const char* why);
  void Lose(Client& client, Loss loss);
  std::string WhyLost(Loss loss) const;
  bool MayLog();
  void AddClient(net::UniqueFd fd);
  void Remember(std::unique_ptr<Client> client);
  void Forget(Client& client);
  void Touch(Client& client);
  void Retire(Client& client);
  void CloseExpired(int64_t polled_ms);
  void CloseAll();
  void FreeRetired();

  // Connections move (worker_moves.cc).
  bool MayMove(const Client& client) const;
  bool GiveIfAsked(Client& client);
  void TakeOver(std::unique_ptr<Client> client);
  void AddMoved(std::unique_ptr<Client> moved);
  void CountActive(Client& client);
  void CountRequests(size_t requests);

  // Turns (worker_turn.cc).
  void MarkReady(Client& client);
  void ReceiveFrom(Client& client);
  void RunTurn(engine::Session& session);
  void TakeInput(Client& client, engine::Session& session);
  void Parse(Client& client, engine::Session& session);
  void ParseIntoTurn(Client& client, engine::Session& session);
  Parsed ParseOne(Client& client, engine::Session& session, Place place);
  bool OpenInTurn(Client& client, engine::Session& session, TurnItem& item);
  bool OpenSilently(Client& client, engine::Session& session, Place place);
  void AfterTurn();
  void ConsumeInput(Client& client);
  void SendTo(Client& client);

  // Batches (worker_batch.cc).
  void MakeBatches();
  ClientBatch* Collecting();
  uint32_t BatchShare() const;
  bool ParseIntoBatch(Client& client, engine::Session& session);
  void AwaitBatch(Client& client);
  void EndAwait();
  void PublishBatch();
  bool NobodyReads() const;
  bool RunsBatchHere() const;
  bool GathersMore();
  void EndGather(engine::Session& session);
  void RunBatchHere(engine::Session& session);
  void TakeDoneBatches();
  void CommitsEnded() override { loop_.Wake(); }
  void Hold(Client& client, uint64_t commit);
  void TakeHeld();
  void FinishBatch(ClientBatch& batch);
  void ComeBack(Client& client);

  // Lock waits (worker_wait.cc).
  void StartWait(Client& client);
  std::unique_ptr<WaitJob> MakeWait(Client& client);
  void HoldIfUndurable(Client& client, const WaitJob& job);
  void FinishWait(WaitJob& job);
  void TakeAnswer(Client& client, WaitJob& job);

  WorkerContext context_;
  net::EventLoop loop_;
  net::ConnectionContext connection_context_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> connections_{0};
  WorkerLoad load_;
  std::atomic<Worker*> give_to_{nullptr};
  std::atomic<uint32_t> give_{0};  ///< Connections that are to go there.
  std::unique_ptr<StatBlock> stats_;
  std::unique_ptr<Turn> turn_;

  engine::Session* session_ = nullptr;
  SessionThread::Clock::time_point interrupt_from_;  ///< Of the thread that stops the worker.

  std::mutex inbox_mutex_;
  std::vector<net::UniqueFd> inbox_connections_;
  std::vector<std::unique_ptr<Client>> inbox_clients_;
  WaitJobs inbox_jobs_;

  std::vector<net::Event> events_;
  std::vector<Client*> ready_;    ///< Have, or may have, requests for the next turn.
  std::vector<Client*> in_turn_;  ///< Those of this round, batches included.
  std::vector<Client*> retired_;  ///< Closed; freed when the turn is over.
  std::vector<Client*> orphans_;  ///< Closed, but the lane has their request.
  std::vector<Client*> clients_;  ///< All, each knowing its place.
  net::IdleList<Client> idle_{0};
  net::IdleList<Client> unauthenticated_{0};
  base::Arena arena_;

  std::unique_ptr<BatchExecutor> executor_;  ///< None where nobody writes.
  std::vector<std::unique_ptr<ClientBatch>> batches_;
  std::vector<ClientBatch*> free_batches_;
  ClientBatch* collecting_ = nullptr;
  std::deque<Client*> await_batch_;  ///< They write, and there is no room in a batch.
  /// Their finds may have seen what is being committed: until all commits up to that one have
  /// ended.
  std::deque<std::pair<uint64_t, Client*>> held_;
  uint32_t batch_others_ = 0;  ///< Requests beside the busiest client's: of late, at most.

  bool commits_are_cheap_ = false;  ///< The last one was.
  bool gathers_ = false;            ///< A batch could run here, and waits for who sends meanwhile.
  uint32_t gather_rounds_ = 0;      ///< Of that batch.
  uint32_t batches_without_finds_ = 0;  ///< Of late, with short commits; counted to a limit.

  int64_t now_ms_ = 0;     ///< When this round began, or its turn ended.
  int64_t worked_ms_ = 0;  ///< When a turn last executed something.
  bool accepts_ = true;
  int64_t accept_again_ms_ = 0;
  int64_t logged_ms_ = -3'600'000;
  int64_t described_ms_ = 0;
  SessionThread thread_;
};

}  // namespace rowsocket::exec
