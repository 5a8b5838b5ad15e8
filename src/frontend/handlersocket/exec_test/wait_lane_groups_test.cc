// Jobs that wait for one row wait together, as one transaction.
#include <chrono>
#include <utility>
#include <vector>

#include "exec/test_notification.h"
#include "frontend/handlersocket/exec_test/wait_lane_fixture.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

TEST_F(WaitLaneTest, GroupThatGivesWayAndLosesItsTransactionIsTriedAgain) {
  auto held = HoldWithGroup(2);
  store_.SetHook([](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kBeginRow && call.number <= 3) {
      outcome = GivesWay();
      outcome.transaction_lost = true;
    }
    return outcome;
  });
  held.reset();
  for (int i = 0; i < 3; ++i) EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,23;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, JobsOfARowAreHandedBackWhenTheJobBeforeThemHasEnded) {
  auto held = Hold("2");
  Submit(Increment("2"));
  ASSERT_TRUE(store_.AwaitWaiting(1));
  for (int i = 0; i < 3; ++i) Submit(Increment("2"));
  EXPECT_EQ(1u, store_.sessions());
  held.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  for (int i = 0; i < 3; ++i) {
    const auto job = owner_.Next();
    ASSERT_NE(nullptr, job);
    EXPECT_TRUE(job->is_handed_back);
    EXPECT_EQ("", job->reply());
  }
  EXPECT_EQ(1, owner_.returns()) << "together, so that they go into one batch";
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, JobsThatComeAgainAreExecutedWithAllThatWaitForTheRow) {
  auto held = Hold("2");
  Submit(Increment("2"));
  ASSERT_TRUE(store_.AwaitWaiting(1));
  Submit(Increment("2"));
  lane_->Submit(Again(Job(Increment("2"))));
  Submit(Increment("2"));
  held.reset();
  for (int i = 0; i < 4; ++i) EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,24;3,30;", store_.Dump(kLaneTable));
  EXPECT_EQ(2u, stats_.Sum(Stat::kCommits));
  EXPECT_EQ(3u, stats_.Sum(Stat::kMergedRequests));
}

// A group has all its replies in memory before the first of them is sent.
TEST_F(WaitLaneTest, JobsAfterTheRepliesThatATurnMayMakeAreHandedBack) {
  constexpr size_t kBytes = 4u << 20;
  constexpr size_t kJobs = model::kTurnReplyBytesMax / kBytes + 5;
  store_.CreateTable({"test.large", {"id", "n", "v"}, {{"PRIMARY", {0}}}},
                     {{"1", "0", std::string(kBytes, 'x')}});
  Open("P\t1\ttest\tlarge\t\tn,v\n");
  // Adds 1 to n and nothing (NULL) to v, and answers both as they were.
  const std::string take = std::string("1\t=\t1\t1\t1\t0\t+?\t1\t") + '\0' + "\n";
  auto held = store_.LockRow("test.large", {"1"});
  Submit(take);
  ASSERT_TRUE(store_.AwaitWaiting(1));
  for (size_t i = 1; i < kJobs; ++i) lane_->Submit(Again(Job(take)));
  held.reset();
  std::vector<std::unique_ptr<WaitJob>> left;
  for (size_t i = 0; i < kJobs; ++i) {
    std::unique_ptr<WaitJob> job = owner_.Next();
    ASSERT_NE(nullptr, job);
    EXPECT_TRUE(job->outcome.ok());
    EXPECT_EQ(job->is_handed_back, job->reply().empty());
    if (job->is_handed_back) left.push_back(std::move(job));
  }
  ASSERT_FALSE(left.empty());
  ASSERT_LT(left.size(), kJobs);
  EXPECT_EQ(kJobs - left.size(), stats_.Sum(Stat::kIncrements)) << "the others have not run";
  for (auto& job : left) lane_->Submit(Again(std::move(job)));
  for (size_t i = 0; i < left.size(); ++i) EXPECT_LT(kBytes, owner_.NextReply().size());
  EXPECT_EQ(kJobs, stats_.Sum(Stat::kIncrements));
}

// All jobs share one wait: a hundred waits one after the other would take minutes.
TEST_F(WaitLaneTest, WaitOfAGroupThatTakesTooLongIsAnsweredOnce) {
  store_.SetLockWaitMs(1000);
  auto held = HoldWithGroup(100);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 101; ++i) EXPECT_EQ("1\t1\t146\n", owner_.NextReply());
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTestTimeout);
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, KillOfAGroupIsAnsweredToAllItsJobs) {
  auto held = HoldWithGroup(3);
  // The first request runs alone; the later ones are merged.
  store_.SetHook([](const Call& call) {
    return call.kind == Call::Kind::kBeginRow ? engine::fake::KilledTurn() : Outcome();
  });
  held.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  for (int i = 0; i < 3; ++i) EXPECT_EQ("1\t1\tkilled\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
}

// KILL QUERY ends the one wait for the row that all jobs of the group share.
TEST_F(WaitLaneTest, KilledWaitOfAGroupIsAnsweredToAllItsJobsAndChangesNothing) {
  auto held = HoldWithGroup(3);
  store_.SetHook([](const Call& call) {
    const bool is_first = call.kind == Call::Kind::kBeginRow && call.number == 1;
    return is_first ? engine::fake::Killed() : Outcome();
  });
  held.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  for (int i = 0; i < 3; ++i) EXPECT_EQ("1\t1\tkilled\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
}

// Alone, the insert finds its key taken, so that it cannot wait for its lock before the group runs.
TEST_F(WaitLaneTest, GroupWhoseRequestMeetsALockOnlyAfterTheOthersWaitsForIt) {
  constexpr unsigned kRefusedMax = 20;
  Open("P\t1\ttest\tt\t\tid,v\n");
  bool is_deleted = false;
  unsigned refused = 0;
  store_.SetHook([&](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kBeginTurn) is_deleted = false;
    if (call.kind != Call::Kind::kExecute) return outcome;
    const bool inserts = call.request->verb == model::Request::Verb::kInsert;
    if (inserts && is_deleted && refused < kRefusedMax) {
      ++refused;
      outcome = Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
    }
    is_deleted = !inserts;
    return outcome;
  });
  Submit("G\t2\nR\t0\t=\t1\t2\t1\t0\tD\nR\t1\t+\t2\t2\t50\n");
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t1\n", owner_.NextReply());
  EXPECT_EQ(kRefusedMax, refused);
  lane_->Stop();  // The hook uses local variables.
  EXPECT_EQ("1,10;2,50;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, GroupThatRunsAgainForALockGivesUpWhenAWaitForARowWould) {
  store_.SetLockWaitMs(100);
  Open("P\t1\ttest\tt\t\tid,v\n");
  bool is_deleted = false;
  store_.SetHook([&is_deleted](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kBeginTurn) is_deleted = false;
    if (call.kind != Call::Kind::kExecute) return outcome;
    if (is_deleted) outcome = Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
    is_deleted = call.request->verb != model::Request::Verb::kInsert;
    return outcome;
  });
  const auto began = std::chrono::steady_clock::now();
  Submit("G\t2\nR\t0\t=\t1\t2\t1\t0\tD\nR\t1\t+\t2\t2\t50\n");
  EXPECT_EQ("1\t2\t146\t2\n2\t1\tgroup\n2\t1\tgroup\n", owner_.NextReply());
  EXPECT_LE(std::chrono::milliseconds(90), std::chrono::steady_clock::now() - began);
  lane_->Stop();  // The hook uses a local variable.
  EXPECT_GE(model::kGiveWayTriesMax, store_.calls(Call::Kind::kBeginTurn));
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
}

// MariaDB commits nothing of a table that an ALTER copies if several rows were taken back.
TEST_F(WaitLaneTest, GroupThatCannotBeCommittedAfterItsWaitRunsAgainWithoutTakingItsLocks) {
  auto held = Hold("2");
  Submit("G\t2\nR\t0\t=\t1\t1\t1\t0\t+\t1\nR\t0\t=\t1\t2\t1\t0\t+\t1\n");
  ASSERT_TRUE(store_.AwaitWaiting(1));
  bool has_failed = false;
  unsigned executed = 0;
  store_.SetHook([&](const Call& call) {
    executed += has_failed && call.kind == Call::Kind::kExecute;
    if (call.kind != Call::Kind::kCommit || std::exchange(has_failed, true)) return Outcome();
    return engine::fake::MustSplit();
  });
  held.reset();
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t1\t1\n", owner_.NextReply());
  lane_->Stop();  // The hook uses local variables.
  EXPECT_EQ(2u, executed);
  EXPECT_EQ("1,11;2,21;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, GroupThatIsTooLargeIsAnsweredAfterItHasWaited) {
  auto held = Hold("2");
  Submit("G\t1\nR\t0\t=\t1\t2\t1\t0\t+\t1\n");
  ASSERT_TRUE(store_.AwaitWaiting(1));
  store_.SetHook([](const Call& call) {
    return call.kind == Call::Kind::kCommit ? engine::fake::MustSplit() : Outcome();
  });
  held.reset();
  EXPECT_EQ("1\t2\t1197\t0\n2\t1\tgroup\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
}

}  // namespace
}  // namespace rowsocket::exec
