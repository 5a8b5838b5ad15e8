// Mail from other threads to a worker: new connections, connections that other workers give away,
// finished lock waits and logins.
//
// Flow: any thread: Put -> the worker wakes up, Take.
// Threads: Put from any, Take from the worker's.
// Errors: Put of a new connection or a list may throw std::bad_alloc, and has then changed nothing;
// all else needs no memory.
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
  /// What has come for the worker, each kind in the order in which it came.
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
    Fill([&](Mail& mail) { mail.connections.push_back(std::move(connection)); });
  }
  void Put(std::unique_ptr<Client> client) {
    Fill([&](Mail& mail) { mail.clients.Push(std::move(client)); });
  }
  void Put(WaitJobs jobs) {
    Fill([&](Mail& mail) { mail.jobs.splice(mail.jobs.end(), jobs); });
  }
  void Put(std::unique_ptr<LoginJob> login) {
    Fill([&](Mail& mail) { mail.logins.Push(std::move(login)); });
  }
  void Put(std::shared_ptr<ConnectionList> list) {
    Fill([&](Mail& mail) { mail.lists.push_back(std::move(list)); });
  }
  void PutAccountsHaveEnded() {
    Fill([](Mail& mail) { mail.accounts_have_ended = true; });
  }

  /// Takes all mail that has come.
  Mail Take() {
    Mail mail;
    const base::MutexLock lock(mutex_);
    std::swap(mail, mail_);
    return mail;
  }

 private:
  template <typename Add>
  void Fill(Add add) {
    {
      const base::MutexLock lock(mutex_);
      add(mail_);
    }
    loop_.Wake();
  }

  net::EventLoop& loop_;
  base::Mutex mutex_;
  Mail mail_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::exec
