// How the connections of a worker log in with an account of the server (they go to the login desk
// with what the client has sent, and come back with the answer), and how they end when their
// account does.
//
// Flow: after a turn: Start -> LoginDesk::Submit ... the worker's inbox -> Finish
//       the worker is told that accounts have ended: EndAccounts in each round, until only
//       connections that another thread has are left; LookAt is called when these are back
//
// Threads: the worker's.
// Lifetime: `owner`, who gets the jobs back, outlives the desk's threads.
// Errors: if memory runs out the connection is lost.
#pragma once

#include <memory>

#include "exec/client_table.h"
#include "exec/login_desk.h"
#include "exec/worker_context.h"

namespace rowsocket::exec {

class Logins {
 public:
  Logins(WorkerCore& core, ClientTable& clients, LoginOwner& owner)
      : core_(core), clients_(clients), owner_(owner) {}

  /// Takes the kAuthenticate item off the front of the client's input, and wipes it there.
  void Start(Client& client, const TurnItem& item);
  /// Answers the client of a job that comes back from the desk.
  void Finish(LoginJob& job);

  /// Ends the login of a connection whose request has made it another account's, or nobody's. Call
  /// after each turn of the connection.
  void LookForOtherAccount(Client& client) {
    if (client.ticket != nullptr) [[unlikely]]
      LeaveAccount(client);
  }

  /// Notes that accounts have ended: the next EndAccounts looks for their connections.
  void LookForEnded() { may_have_ended_ = true; }
  /// Looks whether the client's account has ended already; if so, the next EndAccounts looks for
  /// its connections. Call when the client, or its account, is new to this worker, and when another
  /// thread gives the client back.
  void LookAt(const Client& client) { may_have_ended_ = may_have_ended_ || HasEnded(client); }
  /// Closes the connections of accounts that have ended, except connections that are away, which
  /// follow when they are back.
  void EndAccounts();

 private:
  static bool HasEnded(const Client& client) {
    const model::Account* const account = client.frontend->account();
    return client.ticket != nullptr && account != nullptr && account->ended();
  }
  bool MayTakePassword(const Client& client, const net::Peer& peer) const;
  /// Gives the login to the desk. False if too many logins of the client's address wait.
  bool Submit(Client& client, const TurnItem& item, const net::Peer& peer);
  void EndTicket(Client& client);
  void LeaveAccount(Client& client);
  void Count(model::Error answer);
  void Answer(Client& client, model::Error answer, bool closes);
  void End(Client& client);

  WorkerCore& core_;
  ClientTable& clients_;
  LoginOwner& owner_;
  bool may_have_ended_ = false;
};

}  // namespace rowsocket::exec
