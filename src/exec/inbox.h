// Mail from other threads to a worker: new connections, connections that other workers give away,
// finished lock waits and logins.
//
// Flow: any thread: Put -> the worker wakes up, Take.
// Threads: Put from any, Take from the worker's. Errors: Put throws std::bad_alloc, with nothing
// done, for a new connection and a list; all else needs no memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "exec/client.h"
#include "exec/connection_list.h"
#include "exec/linked_queue.h"
#include "exec/login_desk.h"
#include "exec/wait_lane.h"
#include "net/event_loop.h"
#include "net/unique_fd.h"

namespace rowsocket::exec {

class Inbox {
 public:
  struct Mail {
    std::vector<net::UniqueFd> connections;
    ClientQueue clients;
    WaitJobs jobs;
    LinkedQueue<LoginJob> logins;
    bool accounts_have_ended = false;
    std::vector<std::shared_ptr<ConnectionList>> lists;
  };

  explicit Inbox(net::EventLoop& loop) : loop_(loop) {}

  void Put(net::UniqueFd connection) {
    {
      const base::MutexLock lock(mutex_);
      mail_.connections.push_back(std::move(connection));
    }
    loop_.Wake();
  }
  void Put(std::unique_ptr<Client> client) {
    {
      const base::MutexLock lock(mutex_);
      mail_.clients.Push(std::move(client));
    }
    loop_.Wake();
  }
  void Put(WaitJobs jobs) {
    {
      const base::MutexLock lock(mutex_);
      mail_.jobs.splice(mail_.jobs.end(), jobs);
    }
    loop_.Wake();
  }
  void Put(std::unique_ptr<LoginJob> login) {
    {
      const base::MutexLock lock(mutex_);
      mail_.logins.Push(std::move(login));
    }
    loop_.Wake();
  }
  void Put(std::shared_ptr<ConnectionList> list) {
    {
      const base::MutexLock lock(mutex_);
      mail_.lists.push_back(std::move(list));
    }
    loop_.Wake();
  }
  void PutAccountsHaveEnded() {
    {
      const base::MutexLock lock(mutex_);
      mail_.accounts_have_ended = true;
    }
    loop_.Wake();
  }

  Mail Take() {
    Mail mail;
    const base::MutexLock lock(mutex_);
    std::swap(mail, mail_);
    return mail;
  }

 private:
  net::EventLoop& loop_;
  base::Mutex mutex_;
  Mail mail_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
