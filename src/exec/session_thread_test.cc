#include "exec/session_thread.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "engine/fake/session.h"
#include "exec/test_notification.h"

namespace rowsocket::exec {
namespace {

using engine::LockWait;
using Clock = SessionThread::Clock;

class SessionThreadTest : public ::testing::Test {
 protected:
  SessionThreadTest() {
    store_.CreateTable({"test.t", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", "10"}});
    store_.SetHook([this](const engine::fake::Call& call) {
      if (call.kind == engine::fake::Call::Kind::kInterrupt) ++interrupts_;
      return engine::Outcome();
    });
  }

  /// A body that waits for the lock of the table.
  SessionThread::Body OpenTable() {
    return [](engine::Session* session) {
      const engine::IndexNames names{"test", "t", "PRIMARY", {"v"}, {}, nullptr};
      std::shared_ptr<engine::Index> index;
      session->OpenIndex(names, &index);
    };
  }

  engine::fake::Store store_;
  engine::fake::SessionFactory factory_{store_};
  std::atomic<int> interrupts_{0};
};

TEST_F(SessionThreadTest, HasEndedUnlessItRuns) {
  SessionThread thread;
  EXPECT_TRUE(thread.HasEnded());
  EXPECT_FALSE(thread.joinable());
  Notification may_end;
  ASSERT_TRUE(thread.Start(factory_, LockWait::kNever,
                           [&may_end](engine::Session*) { EXPECT_TRUE(may_end.Wait()); }));
  EXPECT_FALSE(thread.HasEnded());
  EXPECT_TRUE(thread.joinable());
  may_end.Notify();
  thread.Join();
  EXPECT_TRUE(thread.HasEnded());
  EXPECT_FALSE(thread.joinable());
  EXPECT_EQ(store_.sessions(), 0u);
}

/// Has no memory for a session for some time.
class ScarceFactory : public engine::SessionFactory {
 public:
  explicit ScarceFactory(engine::SessionFactory& factory) : factory_(factory) {}

  std::unique_ptr<engine::Session> Create(LockWait lock_wait) override {
    if (tries_++ < 2) throw std::bad_alloc();
    return factory_.Create(lock_wait);
  }

 private:
  engine::SessionFactory& factory_;
  int tries_ = 0;
};

TEST_F(SessionThreadTest, AsksForASessionAgainWhereThereWasNoMemoryForIt) {
  ScarceFactory scarce(factory_);
  SessionThread thread;
  std::atomic<bool> has_session{false};
  ASSERT_TRUE(thread.Start(scarce, LockWait::kNever, [&has_session](engine::Session* session) {
    has_session = session != nullptr;
  }));
  thread.Join();
  EXPECT_TRUE(has_session);
}

TEST_F(SessionThreadTest, StartsAgainOnceItIsJoined) {
  SessionThread thread;
  std::atomic<int> runs{0};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(thread.Start(factory_, LockWait::kNever,
                             [&runs](engine::Session* session) { runs += session != nullptr; }));
    thread.Join();
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(SessionThreadTest, HasNoSessionWhenTheServerShutsDown) {
  store_.ShutDown();
  SessionThread thread;
  std::atomic<bool> has_session{true};
  ASSERT_TRUE(thread.Start(factory_, LockWait::kNever, [&has_session](engine::Session* session) {
    has_session = session != nullptr;
  }));
  thread.Join();
  EXPECT_FALSE(has_session);
}

TEST_F(SessionThreadTest, HasNoSessionWhereThereIsNoMemory) {
  engine::fake::NoSessions no_sessions;
  SessionThread thread;
  std::atomic<bool> has_session{true};
  ASSERT_TRUE(thread.Start(no_sessions, LockWait::kNever, [&has_session](engine::Session* session) {
    has_session = session != nullptr;
  }));
  thread.Join();
  EXPECT_FALSE(has_session);
}

/// Can make no session, however often it is asked.
class UnfitFactory : public engine::SessionFactory {
 public:
  std::unique_ptr<engine::Session> Create(LockWait) override { return nullptr; }
};

TEST_F(SessionThreadTest, AsksOnceWhereNoSessionCanBeMade) {
  UnfitFactory unfit;
  SessionThread thread;
  std::atomic<bool> has_session{true};
  std::atomic<int> asked_again{0};
  ASSERT_TRUE(thread.Start(
      unfit, LockWait::kNever,
      [&has_session](engine::Session* session) { has_session = session != nullptr; },
      [&asked_again] { return ++asked_again < 3; }));
  thread.Join();
  EXPECT_FALSE(has_session);
  EXPECT_EQ(asked_again, 0);
}

TEST_F(SessionThreadTest, InterruptsAllThreadsThatHaveNotEndedInTime) {
  const auto held = store_.LockTable("test.t");
  SessionThread first, second;
  ASSERT_TRUE(first.Start(factory_, LockWait::kServer, OpenTable()));
  ASSERT_TRUE(second.Start(factory_, LockWait::kServer, OpenTable()));
  ASSERT_TRUE(store_.AwaitWaiting(2));
  const std::array threads{&first, &second};
  SessionThread::AwaitEnd(threads, Clock::now());
  EXPECT_TRUE(first.HasEnded());
  EXPECT_TRUE(second.HasEnded());
  EXPECT_GE(interrupts_, 2);
}

TEST_F(SessionThreadTest, LeavesThreadsAloneUntilTheyAreToBeInterrupted) {
  Notification may_end;
  SessionThread thread;
  ASSERT_TRUE(thread.Start(factory_, LockWait::kNever,
                           [&may_end](engine::Session*) { EXPECT_TRUE(may_end.Wait()); }));
  may_end.Notify();
  const std::array threads{&thread};
  SessionThread::AwaitEnd(threads, Clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(thread.HasEnded());
  EXPECT_EQ(interrupts_, 0);
}

}  // namespace
}  // namespace rowsocket::exec
