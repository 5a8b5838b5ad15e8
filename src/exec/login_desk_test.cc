#include "exec/login_desk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "exec/test_logins.h"
#include "exec/test_notification.h"
#include "model/limits.h"

namespace rowsocket::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// Keeps the jobs that come back, in their order.
class Owner final : public LoginOwner {
 public:
  void Done(std::unique_ptr<LoginJob> job) override {
    const base::MutexLock lock(mutex_);
    done_.push_back(std::move(job));
    comes_.NotifyAll();
  }
  /// Waits until `count` jobs have come back in all.
  bool Await(size_t count) {
    base::MutexLock lock(mutex_);
    return comes_.WaitFor(lock, std::chrono::seconds(20),
                          [&]() REQUIRES(mutex_) { return done_.size() >= count; });
  }
  size_t count() {
    const base::MutexLock lock(mutex_);
    return done_.size();
  }
  LoginJob& job(size_t i) {
    const base::MutexLock lock(mutex_);
    return *done_[i];
  }

 private:
  base::Mutex mutex_;
  base::Condition comes_;
  std::vector<std::unique_ptr<LoginJob>> done_ GUARDED_BY(mutex_);
};

class LoginDeskTest : public ::testing::Test {
 protected:
  void Start(unsigned threads) {
    desk_ = std::make_unique<LoginDesk>(checker_, threads);
    ASSERT_TRUE(desk_->Start());
  }
  void Submit(const char* password, uint64_t source, bool refuse_unchecked = false,
              Client* client = nullptr) {
    auto job = std::make_unique<LoginJob>();
    job->owner = &owner_;
    job->source = {LoginSource::Kind::kIpv4, source};
    job->attempt.user = TestLogins::kUser;
    job->refuse_unchecked = refuse_unchecked;
    ASSERT_TRUE(job->attempt.password.Set(password));
    job->client = client;
    EXPECT_TRUE(desk_->Submit(std::move(job)));
  }

  TestLogins checker_;
  Owner owner_;
  std::unique_ptr<LoginDesk> desk_;
};

TEST_F(LoginDeskTest, RightPasswordIsAnsweredWithItsAccount) {
  Start(1);
  Submit(TestLogins::kPassword, 1);
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_EQ(checker_.account, owner_.job(0).login.account);
  desk_->End(std::move(owner_.job(0).login.ticket));
  desk_->CloseLogins();
  desk_->Stop();
  EXPECT_EQ(0, checker_.tickets);
  EXPECT_EQ(0, checker_.threads);
}

TEST_F(LoginDeskTest, WrongPasswordIsAnsweredLater) {
  Start(1);
  const Clock::time_point began = Clock::now();
  Submit("wrong", 1);
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_EQ(nullptr, owner_.job(0).login.account);
  Submit("wrong", 1);
  ASSERT_TRUE(owner_.Await(2));
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(3 * model::kLoginDelayMs));
}

TEST_F(LoginDeskTest, ClientThatIsGoneIsForgotten) {
  Start(1);
  // The desk only compares the pointers.
  int places[2];
  Client* const gone = reinterpret_cast<Client*>(&places[0]);
  Client* const waits = reinterpret_cast<Client*>(&places[1]);
  for (uint32_t i = 0; i < 2 * model::kLoginsOfSourceMax; ++i) Submit("wrong", 1, false, gone);
  Submit("wrong", 1, false, waits);
  // The first logins are refused and wait for their delay; the later ones wait to be checked.
  int canceled = 0;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(20);
  while (canceled < 2 * static_cast<int>(model::kLoginsOfSourceMax) && Clock::now() < until)
    canceled += desk_->Cancel(gone);
  EXPECT_EQ(2 * static_cast<int>(model::kLoginsOfSourceMax), canceled);
  EXPECT_FALSE(desk_->Cancel(gone));
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_EQ(waits, owner_.job(0).client);
}

TEST_F(LoginDeskTest, DelayKeepsNoThread) {
  Start(1);
  Submit("wrong", 1);
  Submit(TestLogins::kPassword, 2);
  ASSERT_TRUE(owner_.Await(2));
  EXPECT_NE(nullptr, owner_.job(0).login.account);
  EXPECT_EQ(nullptr, owner_.job(1).login.account);
}

TEST_F(LoginDeskTest, LoginToRefuseUncheckedIsNotChecked) {
  Start(1);
  Submit(TestLogins::kPassword, 1, /*refuse_unchecked=*/true);
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_EQ(nullptr, owner_.job(0).login.account);
  EXPECT_EQ(0, checker_.checks);
}

TEST_F(LoginDeskTest, SlowCheckDelaysNoOtherThread) {
  Notification may_end;
  checker_.on_check = [&](const engine::LoginAttempt& attempt) {
    if (attempt.password.view() == "slow") {
      EXPECT_TRUE(may_end.Wait());
    }
  };
  Start(2);
  Submit("slow", 1);
  Submit(TestLogins::kPassword, 2);
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_NE(nullptr, owner_.job(0).login.account);
  may_end.Notify();
  ASSERT_TRUE(owner_.Await(2));
}

// A name server that does not answer keeps a thread for many seconds.
TEST_F(LoginDeskTest, SlowChecksOfOneAddressLeaveAThreadToOthers) {
  constexpr unsigned kThreads = 4;
  static_assert(kThreads <= model::kLoginsOfSourceMax);
  Notification may_end;
  checker_.on_check = [&](const engine::LoginAttempt& attempt) {
    if (attempt.password.view() == "slow") {
      EXPECT_TRUE(may_end.Wait());
    }
  };
  Start(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) Submit("slow", 1);
  Submit(TestLogins::kPassword, 2);
  EXPECT_TRUE(owner_.Await(1));
  may_end.Notify();
  ASSERT_TRUE(owner_.Await(kThreads + 1));
  EXPECT_NE(nullptr, owner_.job(0).login.account);
  EXPECT_EQ(static_cast<int>(kThreads) + 1, checker_.checks);
}

TEST_F(LoginDeskTest, SourceHasFewLoginsUnderWayAndOthersPass) {
  Start(1);
  for (uint32_t i = 0; i < model::kLoginsOfSourceMax + 2; ++i) Submit("wrong", 1);
  Submit(TestLogins::kPassword, 2);
  ASSERT_TRUE(owner_.Await(1));
  EXPECT_NE(nullptr, owner_.job(0).login.account);
  EXPECT_EQ(static_cast<int>(model::kLoginsOfSourceMax) + 1, checker_.checks);
  ASSERT_TRUE(owner_.Await(model::kLoginsOfSourceMax + 3));
}

TEST_F(LoginDeskTest, ClosingDropsWhatWaits) {
  Start(1);
  for (uint32_t i = 0; i < model::kLoginsOfSourceMax + 2; ++i) Submit("wrong", 1);
  desk_->CloseLogins();
  const size_t count = owner_.count();
  Submit("wrong", 2);
  desk_->Stop();
  EXPECT_EQ(count, owner_.count());
}

}  // namespace
}  // namespace rowsocket::exec
