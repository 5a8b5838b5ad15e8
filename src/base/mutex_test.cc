#include "base/mutex.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace rowsocket::base {
namespace {

struct Box {
  Mutex mutex;
  Condition changed;
  int value GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, IsHeldUntilTheLockEnds) {
  Mutex mutex;
  const auto is_free = [&mutex] {
    bool free = false;
    std::thread([&] {
      if (!mutex.TryLock()) return;
      free = true;
      mutex.Unlock();
    }).join();
    return free;
  };
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free());
    lock.Unlock();
    EXPECT_TRUE(is_free());
    lock.Lock();
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

TEST(MutexTest, AdoptsTheMutexOfATryLock) {
  Mutex mutex;
  for (int i = 0; i < 2; ++i) {
    if (!mutex.TryLock()) FAIL() << "it is held still";
    const MutexLock lock(mutex, std::adopt_lock);
  }
}

TEST(MutexTest, ATimedMutexIsTakenWhenItIsFreedInTime) {
  TimedMutex mutex;
  std::promise<void> held, may_end;
  std::thread other([&] {
    const MutexLock lock(mutex);
    held.set_value();
    may_end.get_future().wait();
  });
  held.get_future().wait();
  const auto is_taken_within = [&mutex](Condition::Clock::duration time) {
    if (!mutex.TryLockFor(time)) return false;
    mutex.Unlock();
    return true;
  };
  EXPECT_FALSE(is_taken_within(std::chrono::milliseconds(1)));
  may_end.set_value();
  EXPECT_TRUE(is_taken_within(std::chrono::hours(1)));
  other.join();
}

TEST(MutexTest, ConditionEndsWhenItsPredicateHolds) {
  Box box;
  std::thread other([&box] {
    const MutexLock lock(box.mutex);
    box.value = 1;
    box.changed.NotifyAll();
  });
  {
    MutexLock lock(box.mutex);
    const auto is_set = [&box]() REQUIRES(box.mutex) { return box.value == 1; };
    EXPECT_TRUE(box.changed.WaitFor(lock, std::chrono::hours(1), is_set));
  }
  other.join();
}

TEST(MutexTest, ConditionSaysThatTheTimeIsOver) {
  Box box;
  MutexLock lock(box.mutex);
  const auto is_set = [&box]() REQUIRES(box.mutex) { return box.value == 1; };
  EXPECT_FALSE(box.changed.WaitUntil(lock, Condition::Clock::now(), is_set));
}

}  // namespace
}  // namespace rowsocket::base
