// Turns in which a client is stopped: by a lock that is held elsewhere, or by replies that its
// client does not take, or by a turn that is full.
#include <algorithm>

#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

using model::Error;

class TurnStopTest : public TurnFixture {
 protected:
  /// A lock held by another session, in an engine that gives up the whole transaction for it.
  static Outcome BusyAndLost() {
    Outcome outcome = Busy();
    outcome.transaction_lost = true;
    return outcome;
  }
  static Outcome Busy() {
    return Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
  }
  void ExpectWaitsAt(const Peer& peer, size_t item) {
    ASSERT_TRUE(peer.client.stopped());
    EXPECT_EQ(&turn_.items()[item], peer.client.stopped_at);
    EXPECT_TRUE(peer.client.stopped_at->waits());
  }
};

TEST_F(TurnStopTest, HeldLockStopsItsConnectionOnly) {
  Peer& one = Connect();
  Peer& two = Connect();
  const auto held = store_.LockRow(kTable, {"2"});
  SetHook();
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n1\t=\t1\t3\t1\t0\tD\nbad\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  ExpectWaitsAt(one, 1);
  EXPECT_FALSE(two.client.stopped());
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kTable));
  EXPECT_EQ(2u, Stat(Stat::kIncrements));
  EXPECT_EQ(0u, Stat(Stat::kDeletes));
  EXPECT_EQ(0u, Errors(model::ErrorCode::kCmd));
}

TEST_F(TurnStopTest, TurnWhoseWritesAllWaitIsNoCommit) {
  Peer& one = Connect();
  Peer& two = Connect();
  auto held = store_.LockRow(kTable, {"2"});
  Send(one, "1\t=\t1\t2\t1\t0\t+\t1\n1\t=\t1\t3\t1\t0\tD\n");
  Send(two, "0\t=\t1\t1\n");
  Run();
  ExpectWaitsAt(one, 0);
  EXPECT_EQ("0\t2\t1\t10\n", two.TakeReplies());
  EXPECT_EQ(0u, Stat(Stat::kCommits));
  held.reset();
  NextTurn();
  Send(one, "1\t=\t1\t2\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ(1u, Stat(Stat::kCommits));
}

TEST_F(TurnStopTest, HeldTableStopsClientsThatOpenIt) {
  Peer& one = Connect();
  Peer& two = Connect();
  store_.CreateTable({"test.u", {"id"}, {{"PRIMARY", {0}}}});
  auto held = store_.LockTable("test.u");
  Send(one, "bad\nP\t2\ttest\tu\t\tid\n");
  Send(two, "0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("2\t1\tcmd\n", one.TakeReplies());
  EXPECT_EQ("0\t2\t1\t10\n", two.TakeReplies());
  ExpectWaitsAt(one, 1);
  EXPECT_EQ(4u, Stat(Stat::kOpens));  // Opens without an answer are not counted.
  held.reset();
  NextTurn();
  Send(one, "P\t2\ttest\tu\t\tid\n2\t+\t1\t7\n");
  Run();
  EXPECT_EQ("0\t1\n0\t1\n", one.TakeReplies());
  EXPECT_EQ(5u, Stat(Stat::kOpens));
}

TEST_F(TurnStopTest, HeldLockThatCostsTheTransactionRunsTheOthersAgain) {
  Peer& one = Connect();
  Peer& two = Connect();
  SetHook(FailAlways("2", BusyAndLost()));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  ExpectWaitsAt(one, 1);
  EXPECT_EQ("1,11;2,20;3,31;", store_.Dump(kTable));
  EXPECT_EQ(0u, Errors(model::ErrorCode::kEngine));
}

TEST_F(TurnStopTest, HeldLockAtTheLastTryIsWaitedForAsWell) {
  Peer& peer = Connect();
  store_.SetHook([seen = std::make_shared<unsigned>(0)](const Call& call) {
    if (call.kind != Call::Kind::kExecute) return Outcome();
    return ++*seen == 2 * (model::kBatchRetriesMax + 1) ? BusyAndLost() : engine::fake::Deadlock();
  });
  Send(peer, "1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("", peer.TakeReplies());
  ExpectWaitsAt(peer, 0);
}

TEST_F(TurnStopTest, LockThatWasReleasedMeanwhileStopsNoClientInTheNextRun) {
  Peer& peer = Connect();
  auto held = store_.LockRow(kTable, {"1"});
  Peer& other = Connect();
  store_.SetHook([&](const Call& call) {
    if (call.kind != Call::Kind::kExecute || call.number != 2) return Outcome();
    held.reset();
    return engine::fake::Deadlock();
  });
  Send(peer, "0\t=\t1\t2\n");
  Send(other, "0\t=\t1\t3\n0\t+\t2\t4\t40\n");
  Run();
  EXPECT_EQ("0\t2\t2\t20\n", peer.TakeReplies());
  EXPECT_EQ("0\t2\t3\t30\n0\t1\n", other.TakeReplies());
}

TEST_F(TurnStopTest, UnsentRepliesStopAClient) {
  Peer& one = Connect();
  Peer& two = Connect();
  one.client.out_bytes_max = 20;
  SetHook();
  // Each reply has 9 bytes, so that the third goes above the limit.
  Send(one, "0\t=\t1\t1\n0\t=\t1\t1\n0\t=\t1\t1\n1\t=\t1\t1\t1\t0\tD\nbad\n");
  Send(two, "0\t=\t1\t1\n0\t=\t1\t1\n0\t=\t1\t1\n0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("0\t2\t1\t10\n0\t2\t1\t10\n0\t2\t1\t10\n", one.TakeReplies());
  ASSERT_TRUE(one.client.stopped());
  EXPECT_EQ(&turn_.items()[3], one.client.stopped_at);
  EXPECT_FALSE(one.client.stopped_at->waits());
  EXPECT_FALSE(two.client.stopped());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
}

// Requests that are answered when they are parsed have changed the connection already: they must
// not be parsed again.
TEST_F(TurnStopTest, UnsentRepliesDoNotStopItemsThatAreAnsweredAlready) {
  Peer& peer = Connect();
  peer.client.out_bytes_max = 4;
  Send(peer, "bad\nA\t1\nP\t0\ttest\tt\t\tv\nbad\n0\t=\t1\t1\nbad\n");
  Run();
  EXPECT_EQ("2\t1\tcmd\n0\t1\n0\t1\n2\t1\tcmd\n", peer.TakeReplies());
  ASSERT_TRUE(peer.client.stopped());
  EXPECT_EQ(&turn_.items()[4], peer.client.stopped_at);
  EXPECT_EQ(1u, Stat(Stat::kAuths));
  EXPECT_EQ(2u, Errors(model::ErrorCode::kCmd));
}

// A row of 1 MiB, requested more often than a turn has room for.
TEST_F(TurnStopTest, FullTurnLeavesTheItemsThatItHasNotExecuted) {
  constexpr size_t kBytes = 1 << 20;
  constexpr size_t kFinds = model::kTurnReplyBytesMax / kBytes + 10;
  Peer& writer = Connect();
  Send(writer, "0\t+\t2\t7\t" + std::string(kBytes, 'x') + "\n");
  Run();
  writer.TakeReplies();
  NextTurn();
  Peer& one = Connect();
  Peer& two = Connect();
  for (size_t i = 0; i < kFinds; ++i) Send(one, "0\t=\t1\t7\n");
  Send(two, "0\t=\t1\t1\n");
  Run();
  EXPECT_TRUE(turn_.is_full());
  ASSERT_TRUE(one.client.stopped());
  const auto executed = static_cast<size_t>(one.client.stopped_at - turn_.items().data());
  EXPECT_LT(executed, kFinds);
  EXPECT_EQ(executed, static_cast<size_t>(std::ranges::count(one.TakeReplies(), '\n')));
  ASSERT_TRUE(two.client.stopped());
  EXPECT_FALSE(two.client.stopped_at->waits());
  NextTurn();
  Send(two, "0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("0\t2\t1\t10\n", two.TakeReplies());
  EXPECT_FALSE(turn_.is_full());
}

TEST_F(TurnStopTest, TurnLooksAtTheTimeAfterRequestsThatMayBeLong) {
  std::vector<engine::fake::Row> rows;
  for (int id = 0; id < 150; ++id) rows.push_back({std::to_string(id), "7"});
  store_.CreateTable({"test.many", {"id", "grp"}, {{"PRIMARY", {0}}, {"grp", {1}}}}, rows);
  const struct {
    std::string request;
    bool is_long;
  } requests[] = {
      {"0\t=\t1\t1\n", false},
      {"0\t>=\t1\t1\n", true},
      {"2\t=\t1\t7\n", false},
      {"2\t=\t1\t7\t1\t0\tF\t=\t0\t149\n", true},  // The last of all rows with an equal key.
      {"0\t=\t1\t1\t1\t0\tF\t=\t0\t1" + std::string(5000, ' ') + "\n", true},
  };
  for (const auto& [request, is_long] : requests) {
    SCOPED_TRACE(request.substr(0, 40));
    Peer& peer = Connect();
    Send(peer, "P\t0\ttest\tt\t\tid\tid\nP\t2\ttest\tmany\tgrp\tid\tid\n");
    Run();
    NextTurn();
    turn_.LimitTime(-1);
    Send(peer, request + "0\t=\t1\t2\n");
    Run();
    EXPECT_EQ(is_long, turn_.is_full());
    EXPECT_EQ(is_long, peer.client.stopped());
    turn_.LimitTime(INT64_MAX);
    NextTurn();
  }
}

// Each short request may have read a large row.
TEST_F(TurnStopTest, TurnLooksAtTheTimeAfterManyRequestsThoughEachIsShort) {
  Peer& peer = Connect();
  turn_.LimitTime(-1);
  for (uint32_t i = 0; i < 2 * model::kItemsPerLook; ++i) Send(peer, "0\t=\t1\t1\n");
  Run();
  EXPECT_TRUE(turn_.is_full());
  ASSERT_TRUE(peer.client.stopped());
  EXPECT_EQ(model::kItemsPerLook, peer.client.stopped_at - turn_.items().data());
  turn_.LimitTime(INT64_MAX);
}

// The client is not stopped before the item when the batch runs again: the item would be parsed and
// executed again, too.
TEST_F(TurnStopTest, ChangeThatCannotBeTakenBackIsMadeOnce) {
  store_.CreateTable({"test.stays", {"id"}, {{"PRIMARY", {0}}}, false, true});
  for (const bool is_locked : {false, true}) {
    SCOPED_TRACE(is_locked);
    Peer& slow = Connect();
    Peer& peer = Connect();
    Peer& other = Connect();
    bool is_lost = false;
    store_.SetHook([&](const Call& call) {
      if (call.kind != Call::Kind::kExecute) return Outcome();
      const std::string key = engine::fake::FirstValue(*call.request);
      if (!is_lost && key == "3") {
        is_lost = true;
        return engine::fake::Deadlock();
      }
      if (is_lost && is_locked && key == "1") return Busy();
      if (is_lost && !is_locked && key == "2") turn_.LimitTime(-1);  // The time is over.
      return Outcome();
    });
    Send(slow, "0\t>=\t1\t2\t1000\n");
    Send(peer, "P\t2\ttest\tstays\t\tid\n1\t=\t1\t1\t1\t0\tU\t10\n2\t+\t1\t" +
                   std::to_string(is_locked) + "7\n");
    Send(other, "1\t=\t1\t3\t1\t0\tU\t30\n");
    Run();
    EXPECT_FALSE(peer.client.stopped());
    EXPECT_EQ(is_locked ? "0\t1\n1\t1\t146\n0\t1\n" : "0\t1\n0\t1\t1\n0\t1\n", peer.TakeReplies());
    EXPECT_EQ(!is_locked, turn_.is_full());
    store_.SetHook({});
    turn_.LimitTime(INT64_MAX);
    NextTurn();
  }
  EXPECT_EQ("07;17;", store_.Dump("test.stays"));
}

TEST_F(TurnStopTest, ChangeThatCannotBeTakenBackIsMadeOnceAfterASharedRow) {
  store_.CreateTable({"test.stays", {"id"}, {{"PRIMARY", {0}}}, false, true});
  Peer& peer = Connect();
  Peer& shares = Connect();
  Peer& other = Connect();
  bool is_lost = false;
  store_.SetHook([&](const Call& call) {
    if (is_lost && call.kind == Call::Kind::kBeginRow) return Busy();
    if (is_lost || call.kind != Call::Kind::kExecute ||
        engine::fake::FirstValue(*call.request) != "3") {
      return Outcome();
    }
    is_lost = true;
    return engine::fake::Deadlock();
  });
  Send(peer, "P\t2\ttest\tstays\t\tid\n1\t=\t1\t1\t1\t0\tU\t10\n2\t+\t1\t7\n");
  Send(shares, "1\t=\t1\t1\t1\t0\tU\t11\n");
  Send(other, "1\t=\t1\t3\t1\t0\tU\t30\n");
  Run();
  EXPECT_TRUE(is_lost);
  EXPECT_FALSE(peer.client.stopped());
  EXPECT_EQ("0\t1\n1\t1\t146\n0\t1\n", peer.TakeReplies());
  ExpectWaitsAt(shares, 3);
  EXPECT_EQ("0\t1\t1\n", other.TakeReplies());
  EXPECT_EQ("7;", store_.Dump("test.stays"));
}

TEST_F(TurnStopTest, ManyLocksThatCostTheTransactionOneAfterTheOther) {
  for (int i = 0; i < 12; ++i) Connect();
  store_.SetHook([](const Call& call) {
    const bool hit = call.kind == Call::Kind::kExecute &&
                     engine::fake::FirstValue(*call.request) != "50" && call.request->is_write();
    return hit ? BusyAndLost() : Outcome();
  });
  for (size_t i = 0; i < peers_.size(); ++i) {
    Send(peers_[i], "0\t+\t2\t" + std::to_string(40 + i) + "\t1\n0\t=\t1\t1\n");
  }
  Run();
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (i == 10)
      EXPECT_EQ("0\t1\n0\t2\t1\t10\n", peers_[i].TakeReplies());
    else
      ExpectWaitsAt(peers_[i], 2 * i);
  }
  EXPECT_EQ("1,10;2,20;3,30;50,1;", store_.Dump(kTable));
}

}  // namespace
}  // namespace rowsocket::exec
