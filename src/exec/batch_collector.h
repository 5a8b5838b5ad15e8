// Which connections of a worker write together: collects batches, gives them to the executor, and
// takes them back.
//
// Flow of a round: TakeDone -> Parse of each connection that writes -> Publish, to the executor
//                                      `-> GatherOrRun, in the worker, until EndGather or the run
//
// As long as the executor has not taken the batch that is published, the worker takes the batch
// back in the next round and puts more into it. docs/concurrency.md says when a batch is run in the
// worker itself, and how large a part of it one connection gets.
//
// Threads: the worker's; see BatchExecutor.
// Limits: kBatchesMax batches of kTurnRequestsMax items; connections for which there is no room
// wait, in the order in which they came.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "exec/batch_executor.h"
#include "exec/client_table.h"
#include "exec/input_consumer.h"
#include "exec/item_reader.h"
#include "exec/worker_context.h"

namespace rowsocket::exec {

class BatchCollector {
 public:
  BatchCollector(WorkerCore& core, ClientTable& clients, const InputConsumer& input,
                 const ItemReader& reader);

  /// Starts the executor. False when the system gives it no thread: errno says why.
  bool Start() { return executor_.Start(); }
  /// Ends the executor and takes back the batches that it has executed. Clients that wait are not
  /// served.
  void Stop();
  SessionThread& thread() { return executor_.thread(); }

  /// Reads items of the client into the batch; if the client only finds, its items go to `finds`.
  /// False when no batch has room, or none has room for the client's account. `places`: the most
  /// that the client may add to `finds`. `arena`: the last item of `finds` is the client's first
  /// write, and lies in it; the batch takes the item over, or the item is read again.
  bool Parse(Client& client, engine::Session& session, Turn& finds, uint32_t places,
             const std::shared_ptr<base::Arena>& arena = nullptr);
  /// Keeps the client away until a batch has room.
  void Await(Client& client);
  /// Drops the items of a client that is lost.
  void DropAllOf(const TurnClient& client);

  /// Whether the batch is to be run by the worker, and not by the executor.
  bool RunsHere() const;
  void RunHere(engine::Session& session);
  void Publish();
  /// Runs the batch in the worker, or waits one round for clients that have sent something
  /// meanwhile.
  void GatherOrRun(engine::Session& session);
  /// Whether GatherOrRun waits for more clients.
  bool gathers() const { return gathers_; }
  /// Runs the batch, or publishes it: the wait of GatherOrRun has brought no new client.
  void EndGather(engine::Session& session);
  /// Takes back the batches that the executor has executed, and lets their clients come back.
  /// `session` null: the worker ends.
  void TakeDone(engine::Session* session);
  /// Notes that finds were executed between the batches: batches must not run in the worker, where
  /// finds would wait for them.
  void NoteFinds() { batches_without_finds_ = 0; }

 private:
  struct ClientBatch : Batch {
    using Batch::Batch;

    std::vector<Client*> clients;
    /// Arenas of turns that gave items to the batch: these items lie there.
    std::vector<std::shared_ptr<base::Arena>> kept;
    AccountPlaces places;
    uint32_t largest = 0;  ///< Requests of the client that has the most.
  };

  static bool IsFull(const ClientBatch& batch);
  /// Returns the batch to collect in. Null when no batch has room: a full or finished batch is then
  /// on its way back.
  ClientBatch* Collecting();
  /// Moves the last item of the finds, a write, into the batch. False: the item has to be read
  /// again.
  static bool TakeLast(ClientBatch* batch, Client& client, Turn& finds,
                       const std::shared_ptr<base::Arena>& arena);
  uint32_t Share() const;
  bool IsQuiet() const;
  bool GathersMore();
  void EndAwait(std::span<Client* const> passed_over = {});
  void Run(ClientBatch& batch, engine::Session& session);
  void RunUnserved(ClientBatch& batch, engine::Session* session);
  void Finish(ClientBatch& batch, engine::Session* session);
  void NoteCommit(const ClientBatch& batch);

  WorkerCore& core_;
  ClientTable& clients_;
  const InputConsumer& input_;
  const ItemReader& reader_;
  BatchExecutor executor_;
  std::vector<std::unique_ptr<ClientBatch>> batches_;
  std::vector<ClientBatch*> free_;
  ClientBatch* collecting_ = nullptr;
  std::deque<Client*> waiting_;  ///< Clients that write, while no batch has room.
  /// How many requests all clients but the busiest one have had in a batch: the highest number of
  /// late, which decays by an eighth with each batch.
  uint32_t others_requests_ = 0;

  bool commits_are_cheap_ = false;  ///< The last commit was cheap.
  bool has_told_unserved_ = false;  ///< The log has been told that the executor has no session.
  bool gathers_ = false;            ///< A batch could run in the worker, and waits for clients.
  uint32_t gather_rounds_ = 0;      ///< Rounds that the batch has waited.
  /// How many batches in a row had short commits and no finds; counted up to kQuietBatches.
  uint32_t batches_without_finds_ = 0;
};

}  // namespace rowsocket::exec
