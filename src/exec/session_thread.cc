#include "exec/session_thread.h"

#include <cerrno>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "base/require.h"
#include "base/thread.h"

namespace rowsocket::exec {

namespace {

constexpr std::chrono::milliseconds kInterruptEvery{20};
/// How many times a session is asked for again if there is no memory for it.
constexpr int kSessionRetries = 50;
constexpr std::chrono::milliseconds kSessionRetryEvery{100};

SessionThread::PauseBeforeRetry ForFiveSeconds() {
  return [retries = 0]() mutable {
    if (retries++ == kSessionRetries) return false;
    std::this_thread::sleep_for(kSessionRetryEvery);
    return true;
  };
}

// An exception that left a thread would end the whole server, and a thread without a session serves
// nobody as long as its port is open.
std::unique_ptr<engine::Session> CreateSession(
    engine::SessionFactory& sessions, engine::LockWait lock_wait,
    const SessionThread::PauseBeforeRetry& pause_before_retry) {
  do {
    try {
      return sessions.Create(lock_wait);
    } catch (const std::bad_alloc&) {  // `pause_before_retry` decides.
    }
  } while (!sessions.IsStopping() && pause_before_retry());
  return nullptr;
}

}  // namespace

bool SessionThread::Start(engine::SessionFactory& sessions, engine::LockWait lock_wait, Body body,
                          PauseBeforeRetry pause_before_retry) {
  ROWSOCKET_REQUIRE(!joinable());
  {
    const base::MutexLock lock(mutex_);
    has_ended_ = false;
  }
  if (pause_before_retry == nullptr) pause_before_retry = ForFiveSeconds();
  const bool is_started =
      base::StartThread(&thread_, [this, &sessions, lock_wait, body = std::move(body),
                                   pause_before_retry = std::move(pause_before_retry)] {
        Main(sessions, lock_wait, body, pause_before_retry);
      });
  if (is_started) return true;
  const int why = errno;
  {
    const base::MutexLock lock(mutex_);
    has_ended_ = true;
  }
  errno = why;
  return false;
}

void SessionThread::Join() {
  if (thread_.joinable()) thread_.join();
}

void SessionThread::Main(engine::SessionFactory& sessions, engine::LockWait lock_wait,
                         const Body& body, const PauseBeforeRetry& pause_before_retry) {
  std::unique_ptr<engine::Session> session = CreateSession(sessions, lock_wait, pause_before_retry);
  {
    const base::MutexLock lock(mutex_);
    session_ = session.get();
  }
  body(session.get());
  {
    const base::MutexLock lock(mutex_);
    session_ = nullptr;
  }
  session.reset();
  const base::MutexLock lock(mutex_);
  has_ended_ = true;
  ended_.NotifyAll();
}

bool SessionThread::HasEnded() const {
  const base::MutexLock lock(mutex_);
  return has_ended_;
}

void SessionThread::Interrupt() {
  const base::MutexLock lock(mutex_);
  if (session_ != nullptr) session_->Interrupt();
}

bool SessionThread::HasEndedBy(Clock::time_point until) {
  base::MutexLock lock(mutex_);
  return ended_.WaitUntil(lock, until, [this]() REQUIRES(mutex_) { return has_ended_; });
}

void SessionThread::AwaitEnd(std::span<SessionThread* const> threads,
                             Clock::time_point interrupt_from) {
  Clock::time_point until = interrupt_from;
  for (SessionThread* const thread : threads) {
    while (!thread->HasEndedBy(until)) {
      for (SessionThread* const each : threads) each->Interrupt();
      until = Clock::now() + kInterruptEvery;
    }
  }
}

}  // namespace rowsocket::exec
