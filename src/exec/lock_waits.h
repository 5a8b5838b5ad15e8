// How the connections of a worker get through a lock wait: to the lane with their request, and back
// with its reply.
//
// Flow:   behind a turn: ConsumeInput -> WaitLane::Submit ... the worker's inbox -> Finish
// Threads: the worker's. Lifetime: `owner`, who gets the jobs back, outlives the lane's threads.
// Errors: where memory runs out the connection is lost.
#pragma once

#include <memory>

#include "exec/client_table.h"
#include "exec/held_replies.h"
#include "exec/logins.h"
#include "exec/wait_lane.h"
#include "exec/worker_context.h"

namespace rowsocket::exec {

class LockWaits {
 public:
  LockWaits(WorkerCore& core, ClientTable& clients, HeldReplies& held, Logins& logins,
            WaitJobOwner& owner)
      : core_(core), clients_(clients), held_(held), logins_(logins), owner_(owner) {}

  /// Takes the items that a turn has executed off the client's input. The request at which the turn
  /// stopped the client goes to the lane if it waits for a lock, and to the login desk if it is a
  /// login.
  void ConsumeInput(Client& client);
  /// The lane is done with a job.
  void Finish(WaitJob& job, engine::Session& session);

 private:
  void Start(Client& client);
  std::unique_ptr<WaitJob> MakeJob(Client& client);
  void HoldIfUndurable(Client& client, const WaitJob& job, engine::Session& session);
  void TakeAnswer(Client& client, WaitJob& job, engine::Session& session);
  void CountTime(Client& client, const WaitJob& job, engine::Session& session);

  WorkerCore& core_;
  ClientTable& clients_;
  HeldReplies& held_;
  Logins& logins_;
  WaitJobOwner& owner_;
};

}  // namespace rowsocket::exec
