// The locks of the in-memory engine, by name, and those who wait for them.
//
// An owner is a session or a Holding (somebody outside, as a SQL session would be). A lock is taken
// once by an owner and kept until Release. Deadlocks are not looked for: a wait ends by timeout.
// Threads: all; one mutex for everything. Interrupt may come from any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/session.h"

namespace rowsocket::engine::fake {

class Locks {
 public:
  enum class Granted : uint8_t { kYes, kHeld, kTimedOut, kInterrupted };
  struct Owner {
    bool interrupted = false;  ///< Guarded by the mutex of Locks.
  };

  /// Waits at most `wait_ms`, and only with kServer. What was granted stays until Release.
  Granted Take(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms);
  /// The same without taking the lock: nobody else holds it at this moment.
  Granted Pass(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms);
  /// Makes everybody wait without end who comes to this name, with kNever too.
  void Delay(Owner& owner, const std::string& name);
  void Release(Owner& owner);
  bool IsTaken(const Owner& owner, const std::string& name) const;

  /// Ends the wait that the owner is in, or else the next one before ForgetInterrupt.
  void Interrupt(Owner& owner);
  /// Whether there was one.
  bool ForgetInterrupt(Owner& owner);

  /// Until `count` owners wait at the same time; false when that takes longer than a test may.
  bool AwaitWaiting(unsigned count) const;

 private:
  struct Lock {
    Owner* owner = nullptr;
    bool delays = false;
  };

  Granted WaitUntilFree(std::unique_lock<std::mutex>& lock, Owner& owner, const std::string& name,
                        LockWait wait, int64_t wait_ms);
  bool IsFree(const Owner& owner, const std::string& name) const;
  bool Delays(const std::string& name) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;          ///< A lock was released, or a wait interrupted.
  mutable std::condition_variable arrived_;  ///< waiting_ has grown.
  std::map<std::string, Lock> locks_;
  unsigned waiting_ = 0;
};

/// A lock that somebody outside holds, until this dies.
class Holding {
 public:
  explicit Holding(Locks& locks) : locks_(locks) {}
  ~Holding() { locks_.Release(owner_); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  Locks::Owner& owner() { return owner_; }

 private:
  Locks& locks_;
  Locks::Owner owner_;
};

}  // namespace rowsocket::engine::fake
