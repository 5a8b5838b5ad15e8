// A thread with an engine session of its own: workers, batch executors, lane threads, housekeepers.
//
// Flow: Start -> on the thread: SessionFactory::Create, `body(session)`, the session is destroyed
//       -> Join. A thread that ended may be started again.
// Stopping: the owner tells its body to end in a way of its own, then calls AwaitEnd, which
// interrupts long statements again and again, because a session may forget an interrupt that comes
// between two of its calls.
//
// Threads: Start, joinable, Join and the destructor from the owner's; all else from any, even at
// the same time.
// Errors: Start returns false if the system gives no thread; errno says why.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <thread>

#include "base/mutex.h"
#include "engine/session.h"

namespace rowsocket::exec {

class SessionThread {
 public:
  using Clock = std::chrono::steady_clock;
  /// The session is null when the server is shutting down, when no session can ever be made, or
  /// when there was no memory for one until the retries ended.
  using Body = std::function<void(engine::Session*)>;
  /// Is called on the thread whenever there was no memory for its session: pauses, and says whether
  /// to try again.
  using PauseBeforeRetry = std::function<bool()>;

  SessionThread() = default;
  /// Joins the thread. REQUIRES: the body has ended, or ends without being told to.
  ~SessionThread() { Join(); }
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;

  /// Starts the thread, which tries for five seconds to get its session, or as long as
  /// `pause_before_retry` says so. REQUIRES: it was never started, or is joined.
  bool Start(engine::SessionFactory& sessions, engine::LockWait lock_wait, Body body,
             PauseBeforeRetry pause_before_retry = nullptr);
  /// Whether the thread is started, and not joined yet.
  bool joinable() const { return thread_.joinable(); }
  void Join();

  /// Whether the body and its session have ended. Also true for a thread that was never started.
  bool HasEnded() const;
  /// Makes a wait inside the session end soon.
  void Interrupt();
  /// Returns when all of `threads` have ended. A thread that has not ended by `interrupt_from` is
  /// interrupted from then on.
  static void AwaitEnd(std::span<SessionThread* const> threads, Clock::time_point interrupt_from);

 private:
  void Main(engine::SessionFactory& sessions, engine::LockWait lock_wait, const Body& body,
            const PauseBeforeRetry& pause_before_retry);
  bool HasEndedBy(Clock::time_point until);

  std::thread thread_;

  mutable base::Mutex mutex_;
  base::Condition ended_;
  /// The thread's session; null when there is nothing to interrupt.
  engine::Session* session_ GUARDED_BY(mutex_) = nullptr;
  bool has_ended_ GUARDED_BY(mutex_) = true;
};

}  // namespace rowsocket::exec
