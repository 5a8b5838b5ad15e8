#include "engine/server/session_factory.h"

namespace rowsocket::engine::server {

namespace {

/// How often a thread that waits for the server's start checks whether it is to end instead.
constexpr ulonglong kStartPollNs = 50'000'000;

}  // namespace

// Plugins are loaded early, but tables may be opened only when the server has recovered and
// started.
bool ServerSessionFactory::WaitUntilStarted() const {
  mysql_mutex_lock(&LOCK_server_started);
  while (!mysqld_server_started && !IsStopping()) {
    const timespec until = InNanoseconds(kStartPollNs);
    mysql_cond_timedwait(&COND_server_started, &LOCK_server_started, &until);
  }
  mysql_mutex_unlock(&LOCK_server_started);
  return !IsStopping();
}

bool ServerSessionFactory::IsStopping() const { return ServerStopping() || stopping_.load(); }

std::unique_ptr<Session> ServerSessionFactory::Create(LockWait lock_wait) {
  if (!WaitUntilStarted()) return nullptr;
  WaitTimeouts timeouts;
  if (lock_wait == LockWait::kServer) {
    timeouts.table_lock_s = settings_.table_lock_wait_s;
    timeouts.waits_for_rows = true;
  }
  auto session = std::make_unique<ServerSession>(lock_wait, timeouts, settings_.user, indexes_);
  if (!session->Start()) return nullptr;
  return session;
}

}  // namespace rowsocket::engine::server
