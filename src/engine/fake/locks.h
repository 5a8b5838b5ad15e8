// The locks of the in-memory engine, by name, and the owners that wait for them.
//
// An owner is a session or a Holding (another user, such as a SQL session). A lock is taken
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

  /// Waits at most `wait_ms`, and only with kServer. A granted lock stays until Release.
  Granted Take(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms);
  /// Waits as Take does but takes no lock: at the end no other owner holds the lock.
  Granted Pass(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms);
  /// Makes every owner that comes to this name wait without end, even with kNever.
  void Delay(Owner& owner, const std::string& name);
  void Release(Owner& owner);
  bool IsTaken(const Owner& owner, const std::string& name) const;

  /// Ends the owner's present wait, or, if it does not wait, its next wait before ForgetInterrupt.
  void Interrupt(Owner& owner);
  /// Whether there was an Interrupt.
  bool ForgetInterrupt(Owner& owner);

  /// Waits until `count` owners wait at the same time; false when that takes longer than a test
  /// may.
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

/// A lock that another user holds until this object is destroyed.
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
