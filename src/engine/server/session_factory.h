// Makes the sessions of the library's threads, once the server has started.
//
// Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "engine/server/session.h"

namespace rowsocket::engine::server {

struct SessionSettings {
  unsigned table_lock_wait_s = 12;  ///< The plugin's variable wrlock_timeout.
  SessionUser user;
};

class ServerSessionFactory final : public SessionFactory {
 public:
  ServerSessionFactory(const SessionSettings& settings, IndexRegistry& indexes)
      : settings_(settings), indexes_(indexes) {}
  std::unique_ptr<Session> Create(LockWait lock_wait) override;
  bool IsStopping() const override;
  /// Ends the wait of threads for the server's start.
  void Stop() { stopping_.store(true); }

 private:
  bool WaitUntilStarted() const;

  const SessionSettings settings_;
  IndexRegistry& indexes_;
  std::atomic<bool> stopping_{false};
};

}  // namespace rowsocket::engine::server
