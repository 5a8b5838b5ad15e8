#include "exec/turn.h"

#include "frontend/handlersocket/exec_test/turn_fixture.h"
#include "model/limits.h"

namespace rowsocket::exec {
namespace {

using model::Error;

class TurnTest : public TurnFixture {};

TEST_F(TurnTest, RepliesKeepRequestOrder) {
  Peer& peer = Connect();
  Send(peer,
       "0\t=\t1\t1\n"      // a row
       "bad\n"             // an error that the frontend knows
       "0\t+\t2\t9\t90\n"  // an insert
       "0\t=\t1\t9\n"      // the find after the insert sees its row
       "1\t=\t1\t2\t1\t0\tU\t21\n"
       "0\t+\t2\t1\t11\n"  // an error that the engine knows
       "7\t=\t1\t1\n"
       "0\t=\t1\t2\t1\t0\tD\n"
       "0\t>=\t1\t0\t9\n");
  Run();
  EXPECT_EQ(
      "0\t2\t1\t10\n2\t1\tcmd\n0\t1\n0\t2\t9\t90\n0\t1\t1\n1\t1\t121\n2\t1\tstmtnum\n0\t1\t1\n"
      "0\t2\t1\t10\t3\t30\t9\t90\n",
      peer.TakeReplies());
  EXPECT_EQ("1,10;3,30;9,90;", store_.Dump(kTable));
}

TEST_F(TurnTest, OneCommitForManyConnections) {
  for (int i = 0; i < 50; ++i) Connect();
  const uint64_t commits_before = store_.calls(Call::Kind::kCommit);
  for (size_t i = 0; i < peers_.size(); ++i) {
    const std::string key = std::to_string(100 + i);
    Send(peers_[i], "0\t+\t2\t" + key + "\t1\n0\t=\t1\t" + key + "\n");
  }
  SetHook();
  Run();
  EXPECT_EQ(commits_before + 1, store_.calls(Call::Kind::kCommit));
  for (size_t i = 0; i < peers_.size(); ++i) {
    EXPECT_EQ("0\t1\n0\t2\t" + std::to_string(100 + i) + "\t1\n", peers_[i].TakeReplies());
  }
  EXPECT_EQ(53u, store_.RowCount(kTable));
  EXPECT_EQ(1u, Stat(Stat::kCommits));
  EXPECT_EQ(1u, Stat(Stat::kBatches));
  EXPECT_EQ(100u, Stat(Stat::kBatchRequests));
  EXPECT_EQ(50u, Stat(Stat::kInserts));
  EXPECT_EQ(50u, Stat(Stat::kFinds));
  EXPECT_EQ(50u, Stat(Stat::kRowsRead));
  EXPECT_EQ(50u, Stat(Stat::kRowsWritten));
}

TEST_F(TurnTest, BatchThatLostToAnotherNodeRunsAgain) {
  Peer& peer = Connect();
  Send(peer, "0\t+\t2\t9\t90\n");
  int lost = 0;
  SetHook([&lost](const Call& call) {
    const bool loses = call.kind == Call::Kind::kCommit && ++lost <= 5;
    Outcome outcome;
    if (loses) outcome = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    return outcome;
  });
  Run();
  EXPECT_EQ("0\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;9,90;", store_.Dump(kTable));
  EXPECT_EQ(5u, Stat(Stat::kConflicts));
  EXPECT_EQ(0u, Stat(Stat::kCommitFailures));
}

TEST_F(TurnTest, BatchThatAlwaysLosesToAnotherNodeIsAnsweredInTime) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, "0\t+\t2\t9\t90\n");
  Send(two, "0\t=\t1\t1\t1\t0\tD\n0\t=\t1\t1\n");
  turn_.LimitConflicts(20);
  SetHook([](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kCommit) {
      outcome = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    }
    return outcome;
  });
  Run();
  EXPECT_EQ("1\t1\t149\n", one.TakeReplies());
  EXPECT_EQ("1\t1\t149\n1\t1\t149\n", two.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
}

// The batch is lost before it comes to the item, which is in it because its names are locked.
TEST_F(TurnTest, WhatAFrontendOpensForItselfIsNotAnsweredWhenItsBatchLoses) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, "0\t+\t2\t9\t90\n");
  Send(two, "0\t=\t1\t1\n");
  const engine::IndexNames names{"test", "t", "", {"v"}, {}};
  TurnItem& opens = turn_.Add(two.client);
  opens.item.kind = Item::Kind::kSilentOpen;
  opens.item.names = &names;
  opens.input_begin = opens.input_end = two.parsed;
  turn_.Added();
  turn_.LimitConflicts(-1);
  SetHook([](const Call& call) {
    if (call.kind != Call::Kind::kExecute) return Outcome();
    Outcome outcome = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    outcome.transaction_lost = true;
    return outcome;
  });
  Run();
  EXPECT_EQ("1\t1\t149\n", one.TakeReplies());
  EXPECT_EQ("1\t1\t149\n", two.TakeReplies());
  EXPECT_EQ(&opens, two.client.stopped_at);
}

TEST_F(TurnTest, FailedStatementLeavesNothingAndTheOthersStand) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, "0\t+\t2\t4\t40\n0\t>=\t1\t1\t9\t0\tU\t50\t0\n");  // An update of all rows to one key.
  Send(two, "0\t+\t2\t5\t55\n");
  Run();
  EXPECT_EQ("0\t1\n1\t1\t121\n", one.TakeReplies());
  EXPECT_EQ("0\t1\n", two.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;4,40;5,55;", store_.Dump(kTable));
  EXPECT_EQ(0u, Stat(Stat::kEngineFailures)) << "another row would have been taken";
  EXPECT_EQ(1u, Stat(Stat::kDuplicates));
}

// The hook looks at every output at each statement and at the commit, clients that only read
// included: their replies must not leave if the turn has to run again.
TEST_F(TurnTest, NothingLeavesBeforeTheCommitHasReturned) {
  Peer& writer = Connect();
  Peer& reader = Connect();
  SetHook();
  Send(reader, "0\t=\t1\t1\n");
  Send(writer, "0\t=\t1\t1\n0\t+\t2\t4\t40\n0\t=\t1\t4\n");
  Run();
  EXPECT_EQ("0\t2\t1\t10\n", reader.TakeReplies());
  EXPECT_EQ("0\t2\t1\t10\n0\t1\n0\t2\t4\t40\n", writer.TakeReplies());
}

TEST_F(TurnTest, FailedCommitAnswersEveryRequestWithItsError) {
  Peer& one = Connect();
  Peer& two = Connect();
  SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Send(one, "0\t+\t2\t4\t40\nbad\n0\t=\t1\t4\n");
  Send(two, "1\t=\t1\t1\t1\t0\tU\t11\n");
  Run();
  // Answers to requests that never went to the engine are kept.
  EXPECT_EQ("1\t1\t5\n2\t1\tcmd\n1\t1\t5\n", one.TakeReplies());
  EXPECT_EQ("1\t1\t5\n", two.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(Stat::kCommitFailures));
  EXPECT_EQ(0u, Stat(Stat::kCommits));
  EXPECT_EQ(0u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(3u, Errors(model::ErrorCode::kEngine));
  EXPECT_EQ(3u, Stat(Stat::kEngineFailures));
  EXPECT_EQ(0u, Stat(Stat::kDuplicates));
  NextTurn();
  Send(one, "0\t+\t2\t4\t40\n");
  Run();
  EXPECT_EQ("0\t1\n", one.TakeReplies());
}

TEST_F(TurnTest, FailedCommitAnswersItemsExecutedBeforeAClientStopped) {
  Peer& peer = Connect();
  const auto held = store_.LockRow(kTable, {"2"});
  SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Send(peer, "0\t+\t2\t4\t40\n1\t=\t1\t2\t1\t0\tU\t21\n0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("1\t1\t5\n", peer.TakeReplies());
  ASSERT_TRUE(peer.client.stopped());
  EXPECT_EQ(&turn_.items()[1], peer.client.stopped_at);
}

// The turn's finds may have seen changes that another session has committed but not flushed, and
// the failed commit has not flushed them either (S3).
TEST_F(TurnTest, FailedCommitOfAnUnknownEndAnswersFindsOfATurnThatWroteNothing) {
  Peer& finds = Connect();
  Peer& waits = Connect();
  const auto held = store_.LockRow(kTable, {"2"});
  SetHook([](const Call& call) {
    if (call.kind != Call::Kind::kCommit) return Outcome();
    return Outcome::Make(Outcome::Result::kUnknown, Error::Engine(5));
  });
  Send(waits, "1\t=\t1\t2\t1\t0\tU\t21\n");
  Send(finds, "0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("1\t1\t5\n", finds.TakeReplies());
  EXPECT_TRUE(waits.client.stopped());
  EXPECT_EQ(Loss::kNone, finds.client.loss);
}

TEST_F(TurnTest, DeadlockRunsTheBatchAgain) {
  Peer& one = Connect();
  Peer& two = Connect();
  SetHook(engine::fake::DeadlockAt({3}));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n0\t=\t1\t3\n");
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n0\t2\t3\t31\n", two.TakeReplies());
  EXPECT_EQ("1,11;2,21;3,31;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(Stat::kBatchRetries));
  EXPECT_EQ(1u, Stat(Stat::kBatches));
  EXPECT_EQ(1u, Stat(Stat::kCommits));
  // Requests are counted as the client sees them, and not each time that they were tried.
  EXPECT_EQ(3u, Stat(Stat::kIncrements));
  EXPECT_EQ(3u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(1u, Stat(Stat::kFinds));
}

TEST_F(TurnTest, BatchThatDeadlocksAgainAndAgainRunsRequestByRequest) {
  Peer& one = Connect();
  Peer& two = Connect();
  const uint64_t turns_before = store_.calls(Call::Kind::kBeginTurn);
  SetHook(FailAlways("2", engine::fake::Deadlock()));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  store_.SetHook(FailAlways("2", engine::fake::Deadlock()));  // Now replies leave one by one.
  Run();
  EXPECT_EQ("0\t1\t1\n1\t1\t149\n0\t2\t1\t11\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kTable));
  const uint64_t tries = model::kBatchRetriesMax + 1;
  EXPECT_EQ(turns_before + tries + 3 + tries, store_.calls(Call::Kind::kBeginTurn));
  EXPECT_EQ(3u, Stat(Stat::kIncrements));
  EXPECT_EQ(2u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(1u, Errors(model::ErrorCode::kEngine));
}

// The find may have seen a commit of another session that is not on disk yet.
TEST_F(TurnTest, FindThatIsRunAloneIsInATurnThatWrites) {
  Peer& peer = Connect();
  Send(peer, "0\t=\t1\t1\n1\t=\t1\t2\t1\t0\t+\t1\n");
  uint64_t turns = 0, writing = 0;
  store_.SetHook([&, fail = FailAlways("2", engine::fake::Deadlock())](const Call& call) {
    turns += call.kind == Call::Kind::kBeginTurn;
    writing += call.kind == Call::Kind::kBeginTurn && call.writes;
    return fail(call);
  });
  Run();
  store_.SetHook(nullptr);  // The hook uses local variables.
  EXPECT_EQ("0\t2\t1\t10\n1\t1\t149\n", peer.TakeReplies());
  EXPECT_EQ(2 * (model::kBatchRetriesMax + 1) + 1, turns);
  EXPECT_EQ(turns, writing);
}

TEST_F(TurnTest, DeadlockInATurnThatOnlyReadsRunsItAgain) {
  Peer& peer = Connect();
  SetHook(engine::fake::DeadlockAt({2}));
  Send(peer, "0\t=\t1\t1\n0\t=\t1\t2\n");
  Run();
  EXPECT_EQ("0\t2\t1\t10\n0\t2\t2\t20\n", peer.TakeReplies());
}

TEST_F(TurnTest, KillOfAStatementAnswersItAlone) {
  Peer& one = Connect();
  Peer& two = Connect();
  SetHook(FailAlways("2", engine::fake::Killed()));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n1\t1\tkilled\n0\t2\t1\t11\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ(0u, Stat(Stat::kBatchRetries));
}

TEST_F(TurnTest, KillOfTheTurnAnswersOneRequestAndRunsTheOthersAgain) {
  Peer& one = Connect();
  Peer& two = Connect();
  SetHook(FailKey("2", 1, engine::fake::KilledTurn()));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n1\t1\tkilled\n0\t2\t1\t11\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kTable));
  EXPECT_EQ(1u, Errors(model::ErrorCode::kKilled));
  EXPECT_EQ(3u, Stat(Stat::kIncrements));
}

TEST_F(TurnTest, KillAnswerStandsWhenTheCommitFails) {
  Peer& peer = Connect();
  SetHook([fail_key = FailKey("2", 1, engine::fake::KilledTurn()),
           fail_commit = engine::fake::FailCommits(1, Error::Engine(5))](const Call& call) {
    return call.kind == Call::Kind::kCommit ? fail_commit(call) : fail_key(call);
  });
  Send(peer, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("1\t1\t5\n1\t1\tkilled\n", peer.TakeReplies());
}

// The batch has four deadlocks, the request alone three, and its last try a KILL.
TEST_F(TurnTest, KillOfTheLastTryIsAnsweredAsSuch) {
  Peer& peer = Connect();
  store_.SetHook([seen = std::make_shared<unsigned>(0)](const Call& call) {
    if (call.kind != Call::Kind::kExecute) return Outcome();
    return ++*seen == 2 * (model::kBatchRetriesMax + 1) ? engine::fake::KilledTurn()
                                                        : engine::fake::Deadlock();
  });
  Send(peer, "1\t=\t1\t2\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("1\t1\tkilled\n", peer.TakeReplies());
  EXPECT_EQ(1u, Errors(model::ErrorCode::kKilled));
  EXPECT_EQ(0u, Errors(model::ErrorCode::kEngine));
  EXPECT_EQ(1u, Stat(Stat::kIncrements));
}

// The batch has four deadlocks. A conflict with another node neither uses nor renews the retries
// that the request alone has for its deadlocks.
TEST_F(TurnTest, RequestAloneHasThreeRetriesBesideThoseAfterConflicts) {
  const auto run = [this](const std::string& losses_alone) {
    const std::string losses = "DDDD" + losses_alone;
    Peer& peer = Connect();
    store_.SetHook([losses, seen = std::make_shared<size_t>(0)](const Call& call) {
      if (call.kind != Call::Kind::kExecute || *seen == losses.size()) return Outcome();
      if (losses[(*seen)++] == 'D') return engine::fake::Deadlock();
      Outcome conflict = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
      conflict.transaction_lost = true;
      return conflict;
    });
    Send(peer, "1\t=\t1\t2\t1\t0\t+\t1\n");
    Run();
    store_.SetHook({});
    NextTurn();
    return peer.TakeReplies();
  };
  EXPECT_EQ("0\t1\t1\n", run("CDDD"));
  EXPECT_EQ("1\t1\t149\n", run("DDDCD"));
  EXPECT_EQ("1,10;2,21;3,30;", store_.Dump(kTable));
}

// The last rows are logged when the turn is committed: only then may the batch turn out to be too
// large.
TEST_F(TurnTest, BatchThatIsTooLargeRunsRequestByRequest) {
  for (const Call::Kind kind : {Call::Kind::kExecute, Call::Kind::kCommit}) {
    Peer& one = Connect();
    Peer& two = Connect();
    const uint64_t retries = Stat(Stat::kBatchRetries);
    store_.SetHook([kind, statements = std::make_shared<unsigned>(0)](const Call& call) {
      if (call.kind == Call::Kind::kBeginTurn) *statements = 0;
      if (call.kind == Call::Kind::kExecute) ++*statements;
      return call.kind == kind && *statements >= 3 ? engine::fake::MustSplit() : Outcome();
    });
    Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n");
    Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
    Run();
    EXPECT_EQ("0\t1\t1\n0\t1\t1\n", one.TakeReplies());
    EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
    EXPECT_EQ(retries + 1, Stat(Stat::kBatchRetries));
    store_.SetHook({});
    NextTurn();
  }
  EXPECT_EQ("1,12;2,22;3,32;", store_.Dump(kTable));
}

TEST_F(TurnTest, RequestThatIsTooLargeForATransactionFailsAlone) {
  Peer& one = Connect();
  Peer& two = Connect();
  const Outcome must_split = engine::fake::MustSplit();
  store_.SetHook(FailAlways("2", must_split));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n1\t1\t1197\n0\t2\t1\t11\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kTable));
}

TEST_F(TurnTest, StatementThatCannotBeTakenBackIsExecutedOnce) {
  store_.CreateTable({"test.p", {"id", "v"}, {{"PRIMARY", {0}}}, false, true});
  Peer& peer = Connect();
  Send(peer, "P\t2\ttest\tp\t\tid,v\n");
  Run();
  EXPECT_EQ("0\t1\n", peer.TakeReplies());
  NextTurn();
  SetHook(FailKey("2", 2, engine::fake::Deadlock()));
  Send(peer,
       "2\t+\t2\t7\t70\n2\t+\t2\t7\t71\n1\t=\t1\t1\t1\t0\t+\t1\n"
       "1\t=\t1\t2\t1\t0\t+\t1\n2\t=\t1\t7\n");
  Run();
  EXPECT_EQ("0\t1\n1\t1\t121\n0\t1\t1\n0\t1\t1\n0\t2\t7\t70\n", peer.TakeReplies());
  EXPECT_EQ("7,70;", store_.Dump("test.p"));
  EXPECT_EQ("1,11;2,21;3,30;", store_.Dump(kTable));
  EXPECT_EQ(2u, Stat(Stat::kInserts));
}

TEST_F(TurnTest, StatementThatCannotBeTakenBackKeepsItsAnswerWhenTheCommitFails) {
  store_.CreateTable({"test.p", {"id", "v"}, {{"PRIMARY", {0}}}, false, true});
  Peer& peer = Connect();
  Send(peer, "P\t2\ttest\tp\t\tid,v\n");
  Run();
  EXPECT_EQ("0\t1\n", peer.TakeReplies());
  NextTurn();
  SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Send(peer, "2\t+\t2\t7\t70\n1\t=\t1\t1\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\n1\t1\t5\n", peer.TakeReplies());
  EXPECT_EQ("7,70;", store_.Dump("test.p"));
}

}  // namespace
}  // namespace rowsocket::exec
