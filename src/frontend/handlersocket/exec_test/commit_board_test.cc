// Which finds wait for which commits. worker_finds_test.cc tests what becomes of their connections.
#include "exec/commit_board.h"

#include <vector>

#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

/// A session that was killed. Inspect would have to make it usable again, which may take long.
class KilledSession final : public engine::fake::Session {
 public:
  using Session::Session;

  engine::Outcome Inspect(engine::Index& index, engine::IndexFacts* facts) override {
    ADD_FAILURE() << "the session begins again while commits wait for the board";
    return Session::Inspect(index, facts);
  }
  engine::Outcome InspectAtOnce(engine::Index&, engine::IndexFacts*) override {
    return engine::Outcome::Fail(model::ErrorCode::kKilled);
  }
};

class CommitBoardTest : public TurnFixture, protected CommitBoard::Watcher {
 protected:
  void CommitsEnded() override { ++told_; }

  /// The items that are in the turn so far.
  std::vector<TurnItem> Take() {
    std::vector<TurnItem> items = std::move(turn_.items());
    turn_.Clear();
    return items;
  }
  std::vector<TurnItem> Write(unsigned key) {
    Send(writer_, "0\t=\t1\t" + std::to_string(key) + "\t1\t0\t+\t0\t1\n");
    return Take();
  }
  /// The commit that the find waits for; 0: the find need not wait.
  uint64_t Find(unsigned key) {
    reader_.client.may_see_undurable = false;
    Send(reader_, "0\t=\t1\t" + std::to_string(key) + "\n");
    std::vector<TurnItem> finds = Take();
    const uint64_t number = commits_.MarkUndurable(finds, session_, *this);
    EXPECT_EQ(number != 0, reader_.client.may_see_undurable);
    return number;
  }

  Peer& writer_ = Connect();
  Peer& reader_ = Connect();
  int told_ = 0;
};

TEST_F(CommitBoardTest, FindWaitsOnlyWhileItsRowIsBeingCommitted) {
  const std::vector<TurnItem> writes = Write(2);
  EXPECT_EQ(0u, Find(2));
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  EXPECT_EQ(0u, Find(1));
  const uint64_t number = Find(2);
  ASSERT_NE(0u, number);
  EXPECT_FALSE(commits_.HasEnded(number));
  EXPECT_EQ(0, told_);
  commits_.Leave(commit);
  EXPECT_TRUE(commits_.HasEnded(number));
  EXPECT_EQ(1, told_);
  EXPECT_EQ(0u, Find(2));
}

TEST_F(CommitBoardTest, FindOfAKilledSessionWaitsForTheCommitOfAnyRow) {
  const std::vector<TurnItem> writes = Write(2);
  KilledSession killed(store_, engine::LockWait::kNever);
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  Send(reader_, "0\t=\t1\t1\n");
  std::vector<TurnItem> finds = Take();
  EXPECT_NE(0u, commits_.MarkUndurable(finds, killed, *this));
  EXPECT_TRUE(reader_.client.may_see_undurable);
  commits_.Leave(commit);
  EXPECT_EQ(1, told_);
}

TEST_F(CommitBoardTest, CommitThatEndsFirstDoesNotEndTheWaitForOneBeforeIt) {
  const std::vector<TurnItem> writes = Write(2), others = Write(3);
  CommitUnderWay first, second, third;
  commits_.Enter(first, writes);
  commits_.Enter(second, others);
  const uint64_t number = Find(2);
  commits_.Enter(third, others);
  commits_.Leave(second);
  EXPECT_FALSE(commits_.HasEnded(number));
  EXPECT_EQ(0, told_);
  commits_.Leave(first);
  // The find does not wait for a commit that began later.
  EXPECT_TRUE(commits_.HasEnded(number));
  EXPECT_EQ(1, told_);
  commits_.Leave(third);
  EXPECT_EQ(1, told_);
}

TEST_F(CommitBoardTest, CommitIsUsedAgainForOtherRows) {
  const std::vector<TurnItem> writes = Write(2), others = Write(3);
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  EXPECT_NE(0u, Find(2));
  commits_.Leave(commit);
  commits_.Enter(commit, others);
  EXPECT_EQ(0u, Find(2));
  EXPECT_NE(0u, Find(3));
  commits_.Leave(commit);
}

// A worker that only writes has no finds after its round, while its executor commits.
TEST_F(CommitBoardTest, TurnWithoutFindsDoesNotLookAtTheWrites) {
  const std::vector<TurnItem> writes = Write(2);
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  EXPECT_EQ(0u, commits_.MarkUndurable({}, session_, *this));
  EXPECT_FALSE(commit.has_writes);
  commits_.Leave(commit);
}

// The connection's next find comes after a commit again whenever one is under way, so that it
// would wait again and again.
TEST_F(CommitBoardTest, FindThatWasNotExecutedDoesNotWait) {
  const std::vector<TurnItem> writes = Write(2);
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  Send(reader_, "0\t=\t1\t1\n0\t=\t1\t2\n");
  std::vector<TurnItem> finds = Take();
  reader_.client.stopped_at = &finds[1];
  EXPECT_EQ(0u, commits_.MarkUndurable(finds, session_, *this));
  reader_.client.stopped_at = nullptr;
  EXPECT_NE(0u, commits_.MarkUndurable(finds, session_, *this));
  commits_.Leave(commit);
}

TEST_F(CommitBoardTest, WatcherThatIsForgottenIsNotTold) {
  const std::vector<TurnItem> writes = Write(2);
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  EXPECT_NE(0u, Find(2));
  commits_.Forget(*this);
  commits_.Leave(commit);
  EXPECT_EQ(0, told_);
}

}  // namespace
}  // namespace rowsocket::exec
