// What becomes of a connection's input after a turn that had requests of it.
//
// Threads: the worker's.
// Errors: if memory runs out the connection is lost.
#pragma once

#include "exec/client.h"
#include "exec/lock_waits.h"
#include "exec/logins.h"

namespace rowsocket::exec {

class InputConsumer {
 public:
  InputConsumer(LockWaits& waits, Logins& logins) : waits_(waits), logins_(logins) {}

  /// Takes the items that a turn has executed off the client's input. The request at which the turn
  /// stopped the client goes to the lane if it waits for a lock, and to the login desk if it is a
  /// login.
  void Consume(Client& client) const;

 private:
  LockWaits& waits_;
  Logins& logins_;
};

}  // namespace rowsocket::exec
