// One port: its listeners and the workers that serve its connections.
//
// Threads: the plugin's own thread calls everything; any thread may call List, AccountsHaveEnded
// and workers().
// Errors: texts for the server's log, which name the variable to change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/require.h"
#include "exec/handshake_thread.h"
#include "exec/port_settings.h"
#include "exec/worker.h"

namespace rowsocket::exec {

class Port {
 public:
  Port(const PortSettings& settings, engine::SessionFactory& sessions, WaitLane& lane,
       StatRegistry& stats, CommitBoard& commits,
       std::function<std::unique_ptr<Frontend>()> make_frontend,
       std::function<void(const std::string&)> log);
  ~Port() { Stop(); }

  /// Binds the addresses and starts the workers. False with a text when the port cannot listen or a
  /// worker cannot start; workers that have started run until the caller calls Stop. Throws
  /// std::bad_alloc if there is no memory for the workers; the caller calls Stop then, too.
  bool Start(std::string* error);
  /// Tells all workers to end, and does not wait for them.
  void AskToStop();
  /// Frees the addresses, even while workers run. REQUIRES: AskToStop was called.
  void StopListening();
  /// Returns when all workers have ended.
  /// REQUIRES: SessionFactory::Create does not go on waiting for the server's start.
  void Stop();

  /// Closes the connections of accounts that have ended, soon.
  void AccountsHaveEnded();
  size_t workers() const { return workers_.size(); }
  /// Asks each worker to add its connections to the list.
  void List(const std::shared_ptr<ConnectionList>& list);

  const std::vector<net::Listener>& listeners() const { return listeners_; }
  /// REQUIRES: started.
  WorkerPool& worker_pool() {
    ROWSOCKET_REQUIRE(worker_pool_ != nullptr);
    return *worker_pool_;
  }

 private:
  void MakeWorkers();
  bool Assign(net::UniqueFd fd);

  const PortSettings settings_;
  net::BufferBudget budget_;
  WorkerContext context_;
  std::vector<net::Listener> listeners_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<WorkerPool> worker_pool_;
  std::unique_ptr<HandshakeThread> handshake_thread_;  ///< Null if the port does not offer TLS.
  /// Held while a worker is chosen: two workers that accept at once must not both take the last
  /// place.
  base::Mutex assign_mutex_;
};

}  // namespace rowsocket::exec
