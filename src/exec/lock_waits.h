// How the connections of a worker get through a lock wait: their request goes to the lane, and its
// reply comes back.
//
// Flow: after a turn: Start -> WaitLane::Submit ... the worker's inbox -> Finish
// Threads: the worker's.
// Lifetime: `owner`, who gets the jobs back, outlives the lane's threads.
// Limits: what a request takes while it waits, which may be a hundred times its bytes, counts as
// the buffers of its connection do (ClientTable::CountWait).
// Errors: where memory runs out, or the budget of the port has no room for the request, the
// connection is lost, and the lane does not get the request.
#pragma once

#include <memory>

#include "exec/client_table.h"
#include "exec/held_replies.h"
#include "exec/wait_lane.h"
#include "exec/worker_context.h"

namespace rowsocket::exec {

class LockWaits {
 public:
  LockWaits(WorkerCore& core, ClientTable& clients, HeldReplies& held, WaitJobOwner& owner)
      : core_(core), clients_(clients), held_(held), owner_(owner) {}

  /// Gives the item, at which a turn has stopped the client, to the lane. REQUIRES: the item stands
  /// at the front of the client's input.
  void Start(Client& client, const TurnItem& item);
  /// Answers the client of a job that comes back from the lane. `is_stopping`: the worker is to
  /// end, so that the request may have failed only because the lane ends, or gets no session any
  /// more; such a client gets no answer.
  void Finish(WaitJob& job, engine::Session& session, bool is_stopping);

 private:
  /// Null: there is nothing to wait for any more.
  std::unique_ptr<WaitJob> MakeJob(Client& client, const TurnItem& item);
  void HoldIfUndurable(Client& client, const WaitJob& job, engine::Session& session);
  void TakeAnswer(Client& client, WaitJob& job, engine::Session& session);
  void CountTime(Client& client, const WaitJob& job, engine::Session& session);

  WorkerCore& core_;
  ClientTable& clients_;
  HeldReplies& held_;
  WaitJobOwner& owner_;
};

}  // namespace rowsocket::exec
