// Groups of requests with one outcome, together with other requests of their turn.
#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

constexpr const char kTakeAndAdd[] = "G\t2\nR\t1\t=\t1\t1\t1\t0\t+\t1\nR\t0\t+\t2\t5\t50\n";

class TurnGroupTest : public TurnFixture {};

TEST_F(TurnGroupTest, AGroupIsAppliedAsAWhole) {
  Peer& peer = Connect();
  Send(peer, kTakeAndAdd);
  Run();
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,11;2,20;3,30;5,50;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(exec::Stat::kGroups));
  EXPECT_EQ(1u, Stat(exec::Stat::kIncrements));
  EXPECT_EQ(1u, Stat(exec::Stat::kInserts));
}

TEST_F(TurnGroupTest, AGroupThatFailsLeavesTheOthersOfItsTurn) {
  Peer& one = Connect();
  Peer& other = Connect();
  Send(one, kTakeAndAdd);
  Send(other, kTakeAndAdd);
  Send(other, "1\t=\t1\t1\t1\t0\t+\t100\n");
  Run();
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t1\n", one.TakeReplies());
  EXPECT_EQ("1\t2\t121\t2\n2\t1\tgroup\n2\t1\tgroup\n0\t1\t1\n", other.TakeReplies());
  EXPECT_EQ("1,111;2,20;3,30;5,50;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(exec::Stat::kGroupsFailed));
}

TEST_F(TurnGroupTest, AGroupThatStopsChangesNothing) {
  Peer& peer = Connect();
  Send(peer, "G\t2\nO\t1\t=\t1\t1\t1\t0\t+\t1\nR\t1\t=\t1\t77\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t2\t0\t2\n2\t1\tgroup\n2\t1\tgroup\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(exec::Stat::kGroupsStopped));
}

TEST_F(TurnGroupTest, AGroupThatMeetsALockStopsItsClient) {
  Peer& peer = Connect();
  auto held = store_.LockRow(kTable, {"2"});
  Send(peer, "G\t2\nR\t1\t=\t1\t1\t1\t0\t+\t1\nR\t1\t=\t1\t2\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("", peer.TakeReplies());
  ASSERT_NE(nullptr, peer.client.stopped_at);
  EXPECT_TRUE(peer.client.stopped_at->waits());
  EXPECT_EQ(TurnItem::Wait::kElsewhere, peer.client.stopped_at->wait)
      << "the row that it is known by is free";
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnGroupTest, AGroupRunsAgainAfterADeadlock) {
  Peer& peer = Connect();
  store_.SetHook(engine::fake::DeadlockAt({2}));
  Send(peer, kTakeAndAdd);
  Run();
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,11;2,20;3,30;5,50;", store_.Dump(kTable));
}

TEST_F(TurnGroupTest, AGroupWhoseCommitFailsAnswersTheErrorOnEachLine) {
  Peer& peer = Connect();
  store_.SetHook(engine::fake::FailCommits(1, model::Error::Engine(1180)));
  Send(peer, kTakeAndAdd);
  Run();
  EXPECT_EQ("1\t2\t1180\t0\n2\t1\tgroup\n2\t1\tgroup\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnGroupTest, ManyRequestsForARowAndAGroupBetweenThemAreInOrder) {
  Peer& one = Connect();
  Peer& other = Connect();
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n");
  Send(other, "1\t=\t1\t1\t1\t0\t+\t1\nG\t1\nR\t1\t=\t1\t1\t1\t0\tU\t50\n");
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n0\t2\t1\t0\n0\t1\t1\n", other.TakeReplies());
  // On a row that a group shares each request runs at its own place in the turn.
  EXPECT_EQ("1,51;2,20;3,30;", store_.Dump(kTable));
}

using Call = engine::fake::Call;

/// Whether the requests that the engine executes share their row.
struct Shares {
  explicit Shares(engine::fake::Store& store) {
    store.SetHook([this](const Call& call) {
      if (call.kind == Call::Kind::kExecute)
        text += call.request->shares_row ? "shared " : "alone ";
      if (call.kind == Call::Kind::kCloseRows) text += "close ";
      return engine::Outcome();
    });
  }
  std::string text;
};

TEST_F(TurnGroupTest, GroupsThatChangeARowShareItWithSingleRequests) {
  Peer& one = Connect();
  Peer& other = Connect();
  const Shares shares(store_);
  Send(one, kTakeAndAdd);
  Send(other, "1\t=\t1\t1\t1\t0\t+\t1\nG\t1\nR\t1\t=\t1\t1\t1\t0\t+\t10\n");
  Send(other, "1\t=\t1\t2\t1\t0\t+\t1\n1\t=\t1\t1\t1\t0\n");
  Run();
  EXPECT_EQ("shared alone shared shared alone alone close ", shares.text);
  EXPECT_EQ("1,22;2,21;3,30;5,50;", store_.Dump(kTable));
}

TEST_F(TurnGroupTest, AGroupAloneSharesNoRow) {
  Peer& peer = Connect();
  const Shares shares(store_);
  Send(peer, "G\t2\nR\t1\t=\t1\t1\t1\t0\t+\t1\nR\t1\t=\t1\t1\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("alone alone ", shares.text);
}

TEST_F(TurnGroupTest, GroupsRunAgainWithoutSharingWhereTheRowIsLost) {
  for (const Call::Kind lost : {Call::Kind::kCloseRows, Call::Kind::kExecute}) {
    Peer& peer = Connect();
    bool has_lost = false;
    std::string shared;
    store_.SetHook([&](const Call& call) {
      if (call.kind == Call::Kind::kExecute) shared += call.request->shares_row ? "s" : "a";
      engine::Outcome outcome;
      if (call.kind != lost || has_lost) return outcome;
      has_lost = true;
      outcome =
          engine::Outcome::Make(engine::Outcome::Result::kRowLost, {model::ErrorCode::kInternal});
      outcome.transaction_lost = true;
      return outcome;
    });
    for (int i = 0; i < 3; ++i) Send(peer, "G\t1\nR\t1\t=\t1\t1\t1\t0\t+\t1\n");
    Run();
    EXPECT_EQ("0\t2\t1\t0\n0\t1\t1\n0\t2\t1\t0\n0\t1\t1\n0\t2\t1\t0\n0\t1\t1\n",
              peer.TakeReplies());
    EXPECT_EQ(lost == Call::Kind::kExecute ? "saaa" : "sssaaa", shared);
    NextTurn();
  }
  EXPECT_EQ("1,16;2,20;3,30;", store_.Dump(kTable));
}

}  // namespace
}  // namespace rowsocket::exec
