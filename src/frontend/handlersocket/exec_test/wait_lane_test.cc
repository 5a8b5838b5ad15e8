#include "exec/wait_lane.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "exec/test_notification.h"
#include "frontend/handlersocket/exec_test/wait_lane_fixture.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;
using model::Error;
using model::ErrorCode;

TEST_F(WaitLaneTest, JobWaitsForTheLockAndIsCommittedBeforeItIsDone) {
  auto held = Hold("2");
  Submit(Increment("2"));
  ASSERT_TRUE(store_.AwaitWaiting(1));
  EXPECT_TRUE(owner_.IsEmpty());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
  held.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
  EXPECT_EQ(1u, stats_.Sum(Stat::kCommits));
}

TEST_F(WaitLaneTest, WaitThatTakesTooLongIsAnswered) {
  store_.SetLockWaitMs(5);
  const auto held = Hold("2");
  Submit(Increment("2"));
  EXPECT_EQ("1\t1\t146\n", owner_.NextReply());
}

TEST_F(WaitLaneTest, OpenWaitsForTheTable) {
  auto held = store_.LockTable(kLaneTable);
  Submit("P\t1\ttest\tt\t\tid\n");
  ASSERT_TRUE(store_.AwaitWaiting(1));
  held.reset();
  const auto job = owner_.Next();
  ASSERT_NE(nullptr, job);
  EXPECT_TRUE(job->outcome.ok());
  // The session is not that of the connection, which looks the names up again.
  EXPECT_TRUE(job->reply().empty());
}

TEST_F(WaitLaneTest, TableThatIsGoneMeanwhileIsAnError) {
  auto held = store_.LockTable(kLaneTable);
  Submit("0\t=\t1\t1\n");
  ASSERT_TRUE(store_.AwaitWaiting(1));
  store_.DropTable(kLaneTable);
  held.reset();
  EXPECT_EQ("1\t1\topen_table\n", owner_.NextReply());
}

TEST_F(WaitLaneTest, DeadlockIsTriedAgain) {
  store_.SetHook(engine::fake::DeadlockAt({1, 2}));
  Submit(Increment("2"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, DeadlockIsAnsweredAfterSeveralTries) {
  store_.SetHook([](const Call& call) {
    return call.kind == Call::Kind::kExecute ? engine::fake::Deadlock() : Outcome();
  });
  Submit(Increment("2"));
  EXPECT_EQ("1\t1\t149\n", owner_.NextReply());
  EXPECT_EQ(2 * (model::kBatchRetriesMax + 1), store_.calls(Call::Kind::kExecute));
}

TEST_F(WaitLaneTest, KillIsAnsweredAndNotTriedAgain) {
  store_.SetHook([](const Call& call) {
    const bool first = call.kind == Call::Kind::kExecute && call.number == 1;
    return first ? engine::fake::KilledTurn() : Outcome();
  });
  Submit(Increment("2"));
  EXPECT_EQ("1\t1\tkilled\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
  Submit(Increment("2"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
}

TEST_F(WaitLaneTest, FailedCommitIsAnswered) {
  store_.SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Submit(Increment("2"));
  EXPECT_EQ("1\t1\t5\n", owner_.NextReply());
  EXPECT_EQ(1u, stats_.Sum(Stat::kCommitFailures));
  EXPECT_EQ(0u, stats_.Sum(Stat::kCommits));
}

TEST_F(WaitLaneTest, RequestForWhichThereIsNoThreadIsAnErrorOfItsConnection) {
  StartLane(0);
  Submit(Increment("2"));
  EXPECT_EQ("1\t1\t146\n", owner_.NextReply());
  EXPECT_EQ(1u, stats_.Sum(ErrorStat(model::ErrorCode::kLockWait)));
  EXPECT_EQ(1u, frontend_->answers());
  EXPECT_EQ(1u, frontend_->errors());
}

TEST_F(WaitLaneTest, RequestThatIsInTheWayGivesItsTablesBackAndIsTriedAgain) {
  std::vector<size_t> with_tables;
  store_.SetHook([&](const Call& call) {
    if (call.kind == Call::Kind::kBeginTurn) with_tables.push_back(store_.sessions_with_tables());
    return call.kind == Call::Kind::kExecute && call.number <= 3 ? GivesWay() : Outcome();
  });
  Submit(Increment("2"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  lane_->Stop();  // The hook uses local variables.
  EXPECT_EQ(std::vector<size_t>(4, 0), with_tables);
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kLaneTable));
  // The request is counted as its client sees it, and not each time that it was tried.
  EXPECT_EQ(1u, stats_.Sum(Stat::kIncrements));
  EXPECT_EQ(1u, stats_.Sum(Stat::kCommits));
  EXPECT_EQ(0u, stats_.Sum(ErrorStat(model::ErrorCode::kLockTables)));
}

// A request that gives way is tried again until the lane stops, and counts once.
TEST_F(WaitLaneTest, StopEndsARequestThatGivesWay) {
  store_.SetHook(
      [](const Call& call) { return call.kind == Call::Kind::kExecute ? GivesWay() : Outcome(); });
  Submit(Increment("2"));
  while (store_.calls(Call::Kind::kExecute) < 3) std::this_thread::yield();
  lane_->Stop();
  EXPECT_EQ("1\t1\tlock_tables\n", owner_.NextReply());
  EXPECT_EQ(1u, stats_.Sum(Stat::kIncrements));
  EXPECT_EQ(1u, stats_.Sum(ErrorStat(model::ErrorCode::kLockTables)));
}

TEST_F(WaitLaneTest, RequestThatGivesWayKeepsNoOtherWaiting) {
  StartLane(2);
  store_.SetHook([](const Call& call) {
    const bool in_the_way =
        call.kind == Call::Kind::kExecute && engine::fake::FirstValue(*call.request) == "1";
    return in_the_way ? GivesWay() : Outcome();
  });
  Submit(Increment("1"));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    Submit(Increment("2"));
    ASSERT_EQ("0\t1\t1\n", owner_.NextReply());
    ASSERT_LT(std::chrono::steady_clock::now() - began, kTestTimeout / 4);
  }
}

TEST_F(WaitLaneTest, SeveralWaitAtTheSameTime) {
  auto one = Hold("1");
  auto two = Hold("2");
  Submit(Increment("1"));
  Submit(Increment("2"));
  Submit(Increment("3"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());  // The reply for row 3, which no session holds.
  EXPECT_EQ("1,10;2,20;3,31;", store_.Dump(kLaneTable));
  ASSERT_TRUE(store_.AwaitWaiting(2));
  two.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,10;2,21;3,31;", store_.Dump(kLaneTable));
  one.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
}

TEST_F(WaitLaneTest, JobsAboveTheThreadsWaitInOrder) {
  StartLane(1);
  auto held = Hold("1");
  for (const char* key : {"1", "2", "3"}) Submit(Increment(key));
  ASSERT_TRUE(store_.AwaitWaiting(1));
  EXPECT_EQ(1u, store_.sessions());
  EXPECT_TRUE(owner_.IsEmpty());
  held.reset();
  for (const char* key : {"1", "2", "3"}) {
    const auto job = owner_.Next();
    ASSERT_NE(nullptr, job);
    EXPECT_EQ(Increment(key), job->line);
    EXPECT_EQ("0\t1\t1\n", job->reply());
  }
  EXPECT_EQ("1,11;2,21;3,31;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, AccountLeavesOneOfAFewThreadsToOthers) {
  static const model::Account greedy("greedy", "localhost"), modest("modest", "localhost");
  const auto submit_as = [this](const model::Account& account, const std::string& key) {
    auto job = Job(Increment(key));
    job->item.request.account = &account;
    lane_->Submit(std::move(job));
  };
  for (const unsigned threads : {2u, 3u}) {
    StartLane(threads);
    std::vector<std::unique_ptr<engine::fake::Holding>> held;
    for (unsigned row = 1; row <= threads; ++row) {
      held.push_back(Hold(std::to_string(row)));
      submit_as(greedy, std::to_string(row));
    }
    ASSERT_TRUE(store_.AwaitWaiting(threads - 1));
    submit_as(modest, "4");
    ASSERT_EQ("0\t1\t0\n", owner_.NextReply()) << threads;
    held.clear();
    for (unsigned i = 0; i < threads; ++i) EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  }
}

// A lane of one thread serves an account, too.
TEST_F(WaitLaneTest, AccountMayHaveTheOnlyThread) {
  static const model::Account only("only", "localhost");
  StartLane(1);
  auto job = Job(Increment("2"));
  job->item.request.account = &only;
  lane_->Submit(std::move(job));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
}

TEST_F(WaitLaneTest, JobCanBeCanceledBeforeAThreadHasIt) {
  StartLane(1);
  auto held = Hold("1");
  auto first = Job(Increment("1")), second = Job(Increment("2")), third = Job(Increment("3"));
  WaitJob& running = *first;
  WaitJob& queued = *second;
  for (auto* job : {&first, &second, &third}) lane_->Submit(std::move(*job));
  ASSERT_TRUE(store_.AwaitWaiting(1));
  EXPECT_FALSE(lane_->Cancel(running));
  EXPECT_TRUE(lane_->Cancel(queued));
  held.reset();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, ManyJobsFromManyThreads) {
  constexpr unsigned kThreads = 4, kJobs = 50;
  std::vector<std::unique_ptr<WaitJob>> jobs(kThreads * kJobs);
  for (auto& job : jobs) job = Job(Increment("2"));
  std::vector<std::thread> submitters;
  for (unsigned i = 0; i < kThreads; ++i) {
    submitters.emplace_back([this, &jobs, i] {
      for (unsigned j = 0; j < kJobs; ++j) lane_->Submit(std::move(jobs[i * kJobs + j]));
    });
  }
  for (std::thread& thread : submitters) thread.join();
  for (unsigned answered = 0; answered < kThreads * kJobs;) {
    std::unique_ptr<WaitJob> job = owner_.Next();
    ASSERT_NE(nullptr, job);
    if (job->is_handed_back) {
      lane_->Submit(Again(std::move(job)));
      continue;
    }
    EXPECT_EQ("0\t1\t1\n", job->reply());
    ++answered;
  }
  EXPECT_EQ("1,10;2,220;3,30;", store_.Dump(kLaneTable));
}

TEST_F(WaitLaneTest, IdleThreadHoldsNoTable) {
  Submit(Increment("2"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  const auto until = std::chrono::steady_clock::now() + kTestTimeout;
  while (store_.sessions_with_tables() != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(0u, store_.sessions_with_tables());
}

// The only thread has decided to end, but is not gone yet.
TEST_F(WaitLaneTest, JobThatMeetsAnEndingThreadIsDone) {
  StartLane(1);
  Notification ending, go_on;
  store_.SetHook([&](const Call& call) {
    if (call.kind == Call::Kind::kEndSession && call.number == 1) {
      ending.Notify();
      go_on.Wait();
    }
    return Outcome();
  });
  Submit(Increment("1"));
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  ASSERT_TRUE(ending.Wait());
  Submit(Increment("2"));
  go_on.Notify();
  EXPECT_EQ("0\t1\t1\n", owner_.NextReply());
  lane_->Stop();  // The hook uses local variables.
}

TEST_F(WaitLaneTest, StopEndsWaitsAndForgetsJobs) {
  StartLane(2);
  const auto one = Hold("1");
  const auto two = Hold("2");
  for (const char* key : {"1", "2", "3", "3"}) Submit(Increment(key));
  ASSERT_TRUE(store_.AwaitWaiting(2));
  lane_->Stop();
  EXPECT_EQ(0u, store_.sessions());
  // Jobs under way are answered with an error; owners of jobs that were not started are not told.
  for (int i = 0; i < 2; ++i) EXPECT_EQ("1\t1\tkilled\n", owner_.NextReply());
  EXPECT_TRUE(owner_.IsEmpty());
  Submit(Increment("3"));
  EXPECT_TRUE(owner_.IsEmpty());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kLaneTable));
}

// A session forgets an interrupt that comes between two of its calls, as the server's session does.
TEST_F(WaitLaneTest, StopEndsAWaitThatBeginsAfterTheInterrupt) {
  const auto held = Hold("2");
  Notification begins, interrupted;
  store_.SetHook([&](const Call& call) {
    if (call.kind == Call::Kind::kBeginTurn) {
      begins.Notify();
      interrupted.Wait();
    }
    if (call.kind == Call::Kind::kInterrupt) interrupted.Notify();
    return Outcome();
  });
  Submit(Increment("2"));
  ASSERT_TRUE(begins.Wait());
  const auto began = std::chrono::steady_clock::now();
  lane_->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTestTimeout / 2);
}

TEST_F(WaitLaneTest, MissingSessionIsAnErrorOfTheRequest) {
  engine::fake::NoSessions no_sessions;
  WaitLane lane(no_sessions, stats_, commits_, 4);
  for (const char* key : {"1", "1", "2"}) lane.Submit(Job(Increment(key)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ("1\t1\t146\n", owner_.NextReply());
  lane.Stop();
  EXPECT_TRUE(owner_.IsEmpty());
}

TEST_F(WaitLaneTest, MissingThreadIsAnErrorOfTheRequest) {
  const auto submit_without_threads = [this] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    Submit(Increment("2"));
    const bool is_answered = owner_.NextReply() == "1\t1\t146\n";
    _exit(is_answered && stats_.Sum(Stat::kIncrements) == 1 ? 0 : 2);
  };
  EXPECT_EXIT(submit_without_threads(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rowsocket::exec
