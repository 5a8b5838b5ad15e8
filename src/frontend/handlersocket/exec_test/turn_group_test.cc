// Groups of requests with one outcome, beside the other requests of their turn.
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
  // All three sums are one change of the row, before or behind the group as a whole.
  EXPECT_EQ("1,50;2,20;3,30;", store_.Dump(kTable));
}

}  // namespace
}  // namespace rowsocket::exec
