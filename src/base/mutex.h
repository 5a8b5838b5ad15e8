// A mutex whose rules the compiler checks: which lock guards a member, which function needs it.
//
// Flow: `Mutex mutex_; int count_ GUARDED_BY(mutex_);` and `const MutexLock lock(mutex_);` around
// each use of count_. A function that expects its caller to hold the lock says REQUIRES(mutex_); so
// does a lambda that a Condition calls: `[this]() REQUIRES(mutex_) { return count_ > 0; }`.
// clang checks it (-Wthread-safety, .clang-tidy); for other compilers the words mean nothing.
// docs/concurrency.md lists all locks, and the order in which two of them are taken.
//
// Threads: all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define ROWSOCKET_ATTRIBUTE(x) __attribute__((x))
#else
#define ROWSOCKET_ATTRIBUTE(x)
#endif

#define CAPABILITY(name) ROWSOCKET_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY ROWSOCKET_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(mutex) ROWSOCKET_ATTRIBUTE(guarded_by(mutex))
#define REQUIRES(...) ROWSOCKET_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) ROWSOCKET_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) ROWSOCKET_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) ROWSOCKET_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS ROWSOCKET_ATTRIBUTE(no_thread_safety_analysis)

namespace rowsocket::base {

/// What std::timed_mutex does: the ThreadSanitizer of GCC 12 does not know the call by which that
/// one waits, and reports its users.
class StdTimedMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !is_held_; });
    is_held_ = true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    freed_.notify_one();
  }
  bool try_lock() { return try_lock_for({}); }
  bool try_lock_for(std::chrono::steady_clock::duration time) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, time, [this] { return !is_held_; })) return false;
    return is_held_ = true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_held_ = false;
};

/// `Std`: the mutex that this class wraps, as the standard library has them.
template <typename Std>
class CAPABILITY("mutex") BasicMutex {
 public:
  constexpr BasicMutex() = default;
  BasicMutex(const BasicMutex&) = delete;
  BasicMutex& operator=(const BasicMutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }
  /// Takes the mutex if it is free. False: it is held.
  bool TryLock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  /// Takes the mutex as soon as it is free. False: it was held for all that time. Only TimedMutex
  /// has it.
  bool TryLockFor(std::chrono::steady_clock::duration time) TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(time);
  }

 private:
  template <typename>
  friend class MutexLock;

  Std mutex_;
};

using Mutex = BasicMutex<std::mutex>;
using RecursiveMutex = BasicMutex<std::recursive_mutex>;
using TimedMutex = BasicMutex<StdTimedMutex>;

/// Holds a mutex as long as the lock object lives, except between Unlock and Lock.
template <typename Std>
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(BasicMutex<Std>& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  /// Takes over the mutex after a TryLock or TryLockFor that was successful.
  MutexLock(BasicMutex<Std>& mutex, std::adopt_lock_t adopt) REQUIRES(mutex)
      : lock_(mutex.mutex_, adopt) {}
  ~MutexLock() RELEASE() {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() RELEASE() { lock_.unlock(); }
  void Lock() ACQUIRE() { lock_.lock(); }

 private:
  friend class Condition;

  std::unique_lock<Std> lock_;
};

/// A condition variable: waits until a predicate holds, and gives the lock back meanwhile.
class Condition {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = MutexLock<std::mutex>;

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  /// Waits until another thread notifies or `time` is over; it may return early for no reason.
  void WaitFor(Lock& lock, Clock::duration time) { condition_.wait_for(lock.lock_, time); }
  /// Waits until the predicate holds or the time is over. Returns whether it holds.
  template <typename Predicate>
  bool WaitFor(Lock& lock, Clock::duration time, Predicate predicate) {
    return condition_.wait_for(lock.lock_, time, predicate);
  }
  template <typename Predicate>
  bool WaitUntil(Lock& lock, Clock::time_point until, Predicate predicate) {
    return condition_.wait_until(lock.lock_, until, predicate);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace rowsocket::base
