// If the threads of the login desk get no memory, logins wait or are refused, and the threads
// live on.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

#include "exec/linked_queue.h"
#include "exec/login_desk.h"
#include "exec/test_logins.h"
#include "exec/test_memory.h"
#include "exec/test_notification.h"
#include "model/limits.h"

namespace rowsocket::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// Takes the jobs that come back, without memory.
class FrugalOwner final : public LoginOwner {
 public:
  void Done(std::unique_ptr<LoginJob> job) override {
    const base::MutexLock lock(mutex_);
    done_.Push(std::move(job));
    comes_.NotifyAll();
  }
  /// The next job that comes back; null when none comes in time.
  std::unique_ptr<LoginJob> Next() {
    base::MutexLock lock(mutex_);
    std::unique_ptr<LoginJob> job;
    comes_.WaitFor(lock, std::chrono::seconds(20), [&]() REQUIRES(mutex_) {
      job = done_.Pop();
      return job != nullptr;
    });
    return job;
  }

 private:
  base::Mutex mutex_;
  base::Condition comes_;
  LinkedQueue<LoginJob> done_ GUARDED_BY(mutex_);
};

class LoginDeskMemoryTest : public ::testing::Test {
 protected:
  LoginDeskMemoryTest() { EXPECT_TRUE(desk_.Start()); }
  ~LoginDeskMemoryTest() override {
    desk_.CloseLogins();
    desk_.Stop();
  }
  /// Checks that begin from now on wait for may_end_.
  void HoldChecks() {
    checker_.on_check = [this](const engine::LoginAttempt&) {
      begun_.Notify();
      EXPECT_TRUE(may_end_.Wait());
    };
  }
  void Submit(const char* password) {
    auto job = std::make_unique<LoginJob>();
    job->owner = &owner_;
    job->source = {LoginSource::Kind::kIpv4, 1};
    job->attempt.user = TestLogins::kUser;
    ASSERT_TRUE(job->attempt.password.Set(password));
    EXPECT_TRUE(desk_.Submit(std::move(job)));
  }
  void EndTicket() {
    ++checker_.tickets;
    desk_.End(std::make_unique<engine::LoginTicket>());
    const Clock::time_point until = Clock::now() + std::chrono::seconds(20);
    while (checker_.tickets != 0 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(0, checker_.tickets);
  }

  Notification begun_, may_end_;
  TestLogins checker_;
  FrugalOwner owner_;
  LoginDesk desk_{checker_, 1};
};

TEST_F(LoginDeskMemoryTest, StartWithoutMemorySaysWhyInErrno) {
  LoginDesk desk(checker_, 1);
  bool has_started = true;
  int error = 0;
  {
    const OutOfMemory out;
    std::thread([&] {
      errno = 0;
      has_started = desk.Start();
      error = errno;
    }).join();
  }
  EXPECT_FALSE(has_started);
  EXPECT_EQ(ENOMEM, error);
}

TEST_F(LoginDeskMemoryTest, LoginWaitsUntilThereIsMemoryForItsSource) {
  {
    const OutOfMemory out;
    Submit(TestLogins::kPassword);
    // The only thread has looked at the login before it gets back to the tickets.
    for (int i = 0; i < 3; ++i) EndTicket();
    EXPECT_EQ(0, checker_.checks);
  }
  const std::unique_ptr<LoginJob> job = owner_.Next();
  ASSERT_NE(nullptr, job);
  EXPECT_EQ(checker_.account, job->login.account);
  checker_.tickets = 0;
}

TEST(LoginSourcesMemoryTest, ASourceThatFindsNoMemoryDrivesOutNoOther) {
  LoginSources sources(UINT32_MAX);
  const auto begin = [&sources](uint64_t name) {
    const LoginSource source{LoginSource::Kind::kIpv4, name / 8, name};
    EXPECT_TRUE(sources.Queue(source));
    EXPECT_TRUE(sources.Begin(source, 1000));
    return source;
  };
  for (uint64_t name = 0; name < model::kLoginSourcesMax; ++name) {
    const LoginSource source = begin(name);
    sources.EndCheck(source);
    sources.Fail(source, 1000);
    sources.End(source, 1000);
  }
  ASSERT_EQ(model::kLoginSourcesMax, sources.size());
  const LoginSource late{LoginSource::Kind::kUser, 7, 7};
  ASSERT_TRUE(sources.Queue(late));
  bool is_out = false;
  {
    const OutOfMemory out;
    std::thread([&] {
      try {
        sources.Begin(late, 1000);
      } catch (const std::bad_alloc&) {
        is_out = true;
      }
    }).join();
  }
  EXPECT_TRUE(is_out);
  EXPECT_EQ(model::kLoginSourcesMax, sources.size());
  EXPECT_TRUE(sources.Begin(late, 1000));
  EXPECT_EQ(model::kLoginSourcesMax, sources.size());
}

TEST_F(LoginDeskMemoryTest, RefusalNeedsNoMemoryForItsDelay) {
  HoldChecks();
  const Clock::time_point began = Clock::now();
  Submit("wrong");
  ASSERT_TRUE(begun_.Wait());
  const OutOfMemory out;
  may_end_.Notify();
  const std::unique_ptr<LoginJob> job = owner_.Next();
  ASSERT_NE(nullptr, job);
  EXPECT_EQ(nullptr, job->login.account);
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(model::kLoginDelayMs));
}

// A check without memory lets nobody in.
TEST_F(LoginDeskMemoryTest, CheckWithoutMemoryIsARefusal) {
  HoldChecks();
  Submit(TestLogins::kPassword);
  ASSERT_TRUE(begun_.Wait());
  const OutOfMemory out;
  may_end_.Notify();
  const std::unique_ptr<LoginJob> job = owner_.Next();
  ASSERT_NE(nullptr, job);
  EXPECT_EQ(nullptr, job->login.account);
}

}  // namespace
}  // namespace rowsocket::exec
