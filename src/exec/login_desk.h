// Where logins are checked, so that no worker waits for a name server, for an authentication plugin
// or for the delay by which guessing is slowed.
//
// Flow: worker: Submit(job) -> login thread: Check -> owner's Done(job), at once if the login
//       is accepted, after LoginSources' delay if it is refused
//       worker: End(ticket), when the connection has ended
//
// The delay counts from the beginning of the check, so that it hides how long the check took.
//
// Threads: Submit, Cancel and End from any; Start, CloseLogins and Stop from the plugin's. A job is
// the desk's between Submit and Done.
// Stopping: CloseLogins, then Stop when all tickets have been given back.
// Limits: `threads` logins at a time, kLoginsOfSourceMax of one source and kLoginsOfAddressMax of
// one address, delays included. The checks of one address leave a quarter of the threads, and at
// least one of several, to others. Logins that have to wait are taken in the order in which they
// came: one a connection, kLoginsWaitingOfAddressMax an address, and no longer than the
// connection's time to authenticate (Cancel).
// Errors: a login that cannot be checked is refused. Submit throws std::bad_alloc, with nothing
// done; if memory runs out later, a login waits for its check, or is refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "engine/login.h"
#include "exec/login_sources.h"
#include "exec/thread_share.h"

namespace rowsocket::exec {

struct Client;
struct LoginJob;

/// The submitter of jobs, which gets them back. Done may be called on any thread.
class LoginOwner {
 public:
  virtual ~LoginOwner() = default;
  virtual void Done(std::unique_ptr<LoginJob> job) = 0;
};

/// Refused logins, by when they are answered.
using RefusedLogins =
    std::multimap<std::chrono::steady_clock::time_point, std::unique_ptr<LoginJob>>;

struct LoginJob {
  LoginOwner* owner = nullptr;
  Client* client = nullptr;  ///< The client that logs in; Cancel finds the job by it, and the desk
                             ///< does not use what it points to.
  engine::LoginAttempt attempt;
  LoginSource source;
  /// The login is refused without a look at it: no account can have such a name or password, or
  /// its frontend says so.
  bool refuse_unchecked = false;
  engine::Login login;  ///< The outcome.
  // Used only by the desk:
  RefusedLogins::node_type place_if_refused;
  LoginJob* next_in_queue = nullptr;  ///< Belongs to LinkedQueue, when the desk has given the job
                                      ///< back.
};

class LoginDesk {
 public:
  LoginDesk(engine::LoginChecker& checker, unsigned threads)
      : checker_(checker), threads_(threads), sources_(ThreadShare(threads)) {}
  ~LoginDesk() { Stop(); }
  LoginDesk(const LoginDesk&) = delete;
  LoginDesk& operator=(const LoginDesk&) = delete;

  /// Starts the threads. False if the system does not give all of them: errno says why; those that
  /// run end with Stop.
  bool Start();
  /// Queues the job; after CloseLogins it is dropped, and true is returned. False if too many
  /// logins of the address wait: the job is destroyed.
  bool Submit(std::unique_ptr<LoginJob> job);
  /// Drops the job of a client that has gone, or has waited too long. True: the owner gets no job
  /// of the client back. False: the job is being checked, or has come back.
  bool Cancel(const Client* client);
  /// Ends the login of a connection that has ended, on a thread of the desk.
  void End(std::unique_ptr<engine::LoginTicket> ticket);
  /// Takes no more logins, and returns when none is under way. Jobs that wait are dropped, and
  /// their owners are not told.
  void CloseLogins();
  /// Ends the threads, and returns when the tickets that were given back have been dealt with.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;

  void Main();
  bool Next(base::Condition::Lock& lock) REQUIRES(mutex_);
  // AnswerRefused, EndOne and CheckOne do one piece of work, and release the mutex meanwhile.
  // False: there was nothing to do.
  bool AnswerRefused() REQUIRES(mutex_);
  bool EndOne() REQUIRES(mutex_);
  bool CheckOne() REQUIRES(mutex_);
  void Check(LoginJob& job);
  /// Lets a refused login wait for its answer. `began`: when its check began.
  void Delay(std::unique_ptr<LoginJob> job, Clock::time_point began) REQUIRES(mutex_);
  void Leave(const LoginSource& source) REQUIRES(mutex_);
  void LookAgain() REQUIRES(mutex_);

  engine::LoginChecker& checker_;
  std::vector<std::thread> threads_;

  base::Mutex mutex_;
  base::Condition work_;
  base::Condition idle_;
  std::deque<std::unique_ptr<LoginJob>> queue_ GUARDED_BY(mutex_);
  /// The tickets that are to be ended: the last one, which is linked to those before it.
  std::unique_ptr<engine::LoginTicket> ended_ GUARDED_BY(mutex_);
  RefusedLogins refused_ GUARDED_BY(mutex_);
  LoginSources sources_ GUARDED_BY(mutex_);
  /// How many jobs at the front of the queue need not be looked at: their sources have to wait, and
  /// nothing has changed for them since.
  size_t passed_over_ GUARDED_BY(mutex_) = 0;
  /// Logins that are being checked, and refused ones whose owners are being told.
  unsigned under_way_ GUARDED_BY(mutex_) = 0;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace rowsocket::exec
