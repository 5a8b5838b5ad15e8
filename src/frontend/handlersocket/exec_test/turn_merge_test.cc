// Requests of a batch for one row: one change of it, and every answer as if they ran one by one.
#include <algorithm>
#include <random>

#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

using model::Error;

class TurnMergeTest : public TurnFixture {
 protected:
  /// Takes one from the row while more than `keep` is left, and answers the value before.
  static std::string Take(const std::string& key, const std::string& keep = "0") {
    return "2\t=\t1\t" + key + "\t1\t0\tF\t>\t0\t" + keep + "\t-?\t1\n";
  }
  static std::string Add(const std::string& key) { return "1\t=\t1\t" + key + "\t1\t0\t+\t1\n"; }
  static std::string Get(const std::string& key) { return "1\t=\t1\t" + key + "\n"; }

  /// A client that has opened id 2, (id; v; filter v), as well.
  Peer& ConnectBuyer() {
    Peer& peer = Connect();
    Send(peer, "P\t2\ttest\tt\t\tv\tv\n");
    Run();
    EXPECT_EQ("0\t1\n", peer.TakeReplies());
    NextTurn();
    return peer;
  }
  uint64_t Rows() const { return store_.calls(Call::Kind::kBeginRow); }
  uint64_t Unmerged(RanAlone reason) const { return Stat(UnmergedStat(reason)); }
};

TEST_F(TurnMergeTest, RequestsOfManyConnectionsAreOneChangeWithItsOwnAnswerEach) {
  for (int i = 0; i < 30; ++i) ConnectBuyer();
  for (Peer& peer : peers_) Send(peer, Take("3", "3"));
  SetHook();
  Run();
  std::vector<int> seen;
  unsigned refused = 0;
  for (Peer& peer : peers_) {
    const std::string reply = peer.TakeReplies();
    if (reply == "0\t1\n")
      ++refused;
    else
      seen.push_back(std::stoi(reply.substr(4)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(3u, refused);
  ASSERT_EQ(27u, seen.size());
  for (int i = 0; i < 27; ++i) EXPECT_EQ(4 + i, seen[static_cast<size_t>(i)]);
  EXPECT_EQ("1,10;2,20;3,3;", store_.Dump(kTable));
  EXPECT_EQ(1u, Rows());
  EXPECT_EQ(1u, store_.calls(Call::Kind::kEndRow));
  EXPECT_EQ(1u, Stat(Stat::kMergedRows));
  EXPECT_EQ(30u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(27u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(30u, Stat(Stat::kIncrements));
}

TEST_F(TurnMergeTest, NullIsAKeyThatNoRowHas) {
  Connect();
  Connect();
  for (Peer& peer : peers_) Send(peer, Add(std::string(1, '\0')) + Add("1"));
  Run();
  for (Peer& peer : peers_) EXPECT_EQ("0\t1\t0\n0\t1\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,12;2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnMergeTest, EachConnectionsOrderIsKept) {
  Peer& one = ConnectBuyer();
  Peer& two = ConnectBuyer();
  // The second request of `one` for row 1 comes after one for row 2, and does not overtake it.
  Send(one, Take("1") + Take("2") + Take("1") + Get("1"));
  Send(two, Take("1") + Take("1") + Take("2") + Get("2"));
  Run();
  EXPECT_EQ("0\t1\t10\n0\t1\t20\n0\t1\t7\n0\t1\t6\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t9\n0\t1\t8\n0\t1\t19\n0\t1\t18\n", two.TakeReplies());
  EXPECT_EQ("1,6;2,18;3,30;", store_.Dump(kTable));
}

TEST_F(TurnMergeTest, FindDirectlyAfterSeesTheRowInMemory) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, Add("1") + Get("1") + Add("1") + Get("1"));
  Send(two, Get("1") + Add("1") + "bad\n" + Get("1"));
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t11\n0\t1\t1\n0\t1\t12\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t12\n0\t1\t1\n2\t1\tcmd\n0\t1\t13\n", two.TakeReplies());
}

TEST_F(TurnMergeTest, LoneRequestForARowIsNotMerged) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, Add("1") + Get("1"));
  Send(two, Add("2"));
  Run();
  EXPECT_EQ(0u, Rows());
  EXPECT_EQ(0u, Stat(Stat::kMergedRequests));
}

TEST_F(TurnMergeTest, OtherTextsIndexesAndKindsOfRequestsAreOtherRows) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, Add("1") + "0\t=\t1\t2\t1\t0\tU\t2\t21\n" + "1\t>=\t1\t2\t1\t0\t+\t1\n");
  Send(two, Add("01") + Add("2") + "1\t=\t1\t2\t2\t1\t+\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n0\t1\t0\n", two.TakeReplies());
  EXPECT_EQ("1,12;2,23;3,30;", store_.Dump(kTable));
  EXPECT_EQ(0u, Rows());
}

TEST_F(TurnMergeTest, ErrorOfOneRequestIsItsOwn) {
  Peer& one = Connect();
  Peer& two = Connect();
  Peer& three = Connect();
  Send(one, Add("1"));
  Send(two, "1\t=\t1\t1\t1\t0\t+\t9223372036854775807\n");
  Send(three, Add("1"));
  Run();
  EXPECT_EQ("0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("1\t1\t1264\n", two.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", three.TakeReplies());
  EXPECT_EQ("1,12;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, Errors(model::ErrorCode::kEngine));
}

TEST_F(TurnMergeTest, RowThatIsDeletedAndItsLaterRequests) {
  Peer& one = Connect();
  Peer& two = Connect();
  Send(one, Add("1") + "1\t=\t1\t1\t1\t0\tD\n");
  Send(two, Add("1"));
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t0\n", two.TakeReplies());
  EXPECT_EQ("2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnMergeTest, HeldRowStopsAllNextRequestsForItWithOneAttempt) {
  for (int i = 0; i < 5; ++i) Connect();
  const auto held = store_.LockRow(kTable, {"1"});
  const uint64_t executed_before = store_.calls(Call::Kind::kExecute);
  for (Peer& peer : peers_) Send(peer, Add("2") + Add("1") + Add("1"));
  Send(peers_[0], Get("3"));
  Run();
  for (Peer& peer : peers_) {
    EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
    ASSERT_TRUE(peer.client.stopped());
    EXPECT_TRUE(peer.client.stopped_at->waits());
  }
  EXPECT_EQ(executed_before + 5, store_.calls(Call::Kind::kExecute));
  EXPECT_EQ("1,10;2,25;3,30;", store_.Dump(kTable));
}

TEST_F(TurnMergeTest, RequestsThatCannotBeMergedRunOneByOneAndAreCounted) {
  store_.CreateTable({"test.p", {"id", "v"}, {{"PRIMARY", {0}}}, false, true}, {{"1", "10"}});
  Peer& one = Connect();
  Peer& two = Connect();
  for (Peer* peer : {&one, &two}) Send(*peer, "P\t1\ttest\tp\t\tv\n");
  Run();
  for (Peer& peer : peers_) EXPECT_EQ("0\t1\n", peer.TakeReplies());
  NextTurn();
  Send(one, Add("1") + Add("1"));
  Send(two, Add("1"));
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ("1,13;", store_.Dump("test.p"));
  EXPECT_EQ(0u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(3u, Unmerged(RanAloneFor(engine::NotMergeable::kEngine)));
}

TEST_F(TurnMergeTest, RequestThatTheRowDoesNotTakeRunsAfterIt) {
  Peer& one = Connect();
  Peer& two = Connect();
  // The second request changes the key: the requests after it find no such row.
  Send(one, Add("1") + "0\t=\t1\t1\t1\t0\tU\t5\t50\n" + Add("1"));
  Send(two, Add("1"));
  Run();
  EXPECT_EQ("0\t1\t1\n0\t1\t1\n0\t1\t0\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", two.TakeReplies());
  EXPECT_EQ("2,20;3,30;5,50;", store_.Dump(kTable));
}

TEST_F(TurnMergeTest, RowThatCannotBeWrittenIsDoneAgainOneByOne) {
  Peer& one = ConnectBuyer();
  Peer& two = ConnectBuyer();
  SetHook([](const Call& call) {
    Outcome outcome;
    if (call.kind == Call::Kind::kEndRow) outcome = Outcome::Of(Error::Engine(5));
    return outcome;
  });
  Send(one, Take("1") + Take("1"));
  Send(two, Take("1"));
  Run();
  EXPECT_EQ("0\t1\t10\n0\t1\t9\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t8\n", two.TakeReplies());
  EXPECT_EQ("1,7;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(0u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(3u, Stat(Stat::kIncrements));
  EXPECT_EQ(3u, Unmerged(RanAlone::kRerun));
}

TEST_F(TurnMergeTest, RequestsThatRanAgainOneByOneAreCountedWhereTheyWouldHaveBeenMerged) {
  Peer& one = ConnectBuyer();
  Peer& two = ConnectBuyer();
  const Outcome must_split = engine::fake::MustSplit();
  store_.SetHook(FailKey("2", 1, must_split));
  Send(one, Take("1") + Take("2") + Get("1"));
  Send(two, Take("1"));
  Run();
  EXPECT_EQ("0\t1\t10\n0\t1\t20\n0\t1\t9\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t9\n", two.TakeReplies());
  EXPECT_EQ(0u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(2u, Unmerged(RanAlone::kRerun));
}

TEST_F(TurnMergeTest, DeadlockOnARowRunsTheBatchAgain) {
  for (const Call::Kind kind : {Call::Kind::kBeginRow, Call::Kind::kExecute, Call::Kind::kEndRow}) {
    Peer& one = ConnectBuyer();
    Peer& two = ConnectBuyer();
    SetHook([kind](const Call& call) {
      return call.kind == kind && call.number == 1 ? engine::fake::Deadlock() : Outcome();
    });
    Send(one, Take("3") + Take("3"));
    Send(two, Take("3"));
    const std::string before = store_.Dump(kTable);
    Run();
    const int stock = std::stoi(before.substr(before.find(";3,") + 3));
    EXPECT_EQ("0\t1\t" + std::to_string(stock) + "\n0\t1\t" + std::to_string(stock - 1) + "\n",
              one.TakeReplies());
    EXPECT_EQ("0\t1\t" + std::to_string(stock - 2) + "\n", two.TakeReplies());
    NextTurn();
  }
  EXPECT_EQ("1,10;2,20;3,21;", store_.Dump(kTable));
  EXPECT_EQ(3u, Stat(Stat::kBatchRetries));
  // The second attempt merges as well, unless the row itself could not be written.
  EXPECT_EQ(6u, Stat(Stat::kMergedRequests));
  EXPECT_EQ(3u, Unmerged(RanAlone::kRerun));
}

// Tables and hot rows count merged requests as the server's counters do.
TEST_F(TurnMergeTest, RequestsWhoseCommitFailedWereNotMerged) {
  ConnectBuyer();
  ConnectBuyer();
  for (const bool fails : {true, false}) {
    store_.SetHook(engine::fake::FailCommits(fails ? 1 : 0, Error::Engine(5)));
    for (Peer& peer : peers_) Send(peer, Take("3"));
    Run();
    for (Peer& peer : peers_) EXPECT_EQ(fails, peer.TakeReplies() == "1\t1\t5\n");
    for (const TurnItem& item : turn_.items()) EXPECT_EQ(!fails, turn_.IsMerged(item));
    EXPECT_EQ(fails ? 0u : 2u, Stat(Stat::kMergedRequests));
    NextTurn();
  }
}

// KILL QUERY of the read that locks a shared row ends one request, as without a shared row.
TEST_F(TurnMergeTest, KillQueryOfTheLockingReadKillsARequest) {
  Peer& one = ConnectBuyer();
  Peer& two = ConnectBuyer();
  SetHook([](const Call& call) {
    return call.kind == Call::Kind::kBeginRow && call.number == 1
               ? Outcome::Fail(model::ErrorCode::kKilled)
               : Outcome();
  });
  Send(one, Take("3"));
  Send(two, Take("3"));
  Run();
  EXPECT_EQ("1\t1\tkilled\n", one.TakeReplies());
  EXPECT_EQ("0\t1\t30\n", two.TakeReplies());
}

// innodb_rollback_on_timeout: the lock of another session on the row takes the turn back.
TEST_F(TurnMergeTest, LockedRowThatCostsTheTransactionIsAskedForOnce) {
  constexpr size_t kClients = 20;
  for (size_t i = 0; i < 2 * kClients; ++i) Connect();
  for (size_t i = 0; i < kClients; ++i) {
    Send(peers_[2 * i], Add("2"));
    Send(peers_[2 * i + 1], Add(i % 2 == 0 ? "1" : "3"));
  }
  unsigned asked = 0;
  SetHook([&asked](const Call& call) {
    Outcome outcome;
    const bool asks = call.kind == Call::Kind::kBeginRow || call.kind == Call::Kind::kExecute;
    if (!asks || engine::fake::FirstValue(*call.request) != "2") return outcome;
    ++asked;
    outcome = Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
    outcome.transaction_lost = true;
    return outcome;
  });
  Run();
  for (size_t i = 0; i < kClients; ++i) {
    Peer& waiting = peers_[2 * i];
    EXPECT_EQ("", waiting.TakeReplies());
    ASSERT_NE(nullptr, waiting.client.stopped_at);
    EXPECT_EQ(TurnItem::Wait::kForItsRow, waiting.client.stopped_at->wait);
    EXPECT_EQ("0\t1\t1\n", peers_[2 * i + 1].TakeReplies());
  }
  EXPECT_EQ(1u, asked);
  EXPECT_EQ(1u, Stat(Stat::kCommits));
  EXPECT_EQ("1,20;2,20;3,40;", store_.Dump(kTable));
}

/// Random requests for few rows with random failures: the answers add up to the rows.
class TurnMergeRandomTest : public TurnMergeTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  unsigned Random(unsigned below) { return static_cast<unsigned>(random_() % below); }

  Outcome FailSometimes(const Call& call, unsigned rarity) {
    const bool may_fail = call.kind == Call::Kind::kExecute || call.kind == Call::Kind::kBeginRow ||
                          call.kind == Call::Kind::kEndRow || call.kind == Call::Kind::kCommit;
    if (!may_fail || Random(rarity) != 0) return {};
    const Error error = Error::Engine(5);
    if (call.kind == Call::Kind::kCommit) return Outcome::Of(error);
    switch (Random(call.kind == Call::Kind::kEndRow ? 3 : 5)) {
      case 0:
        return engine::fake::KilledTurn();
      case 1:
        return engine::fake::Deadlock();
      case 2:
        return Outcome::Of(error);
      case 3:
        return Outcome::Make(Outcome::Result::kBusy, error);
      default:
        return engine::fake::MustSplit();
    }
  }

  std::mt19937 random_{GetParam()};
};

TEST_P(TurnMergeRandomTest, EveryPieceIsTakenOnce) {
  constexpr int kStock = 1000;
  store_.CreateTable({kTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                     {{"1", "1000"}, {"2", "1000"}, {"3", "1000"}});
  for (int i = 0; i < 6; ++i) ConnectBuyer();
  const unsigned rarity = 5 + Random(100);
  std::vector<int> taken[3];
  for (int turn = 0; turn < 30; ++turn) {
    store_.SetHook([this, rarity](const Call& call) { return FailSometimes(call, rarity); });
    std::vector<std::vector<unsigned>> asked(peers_.size());
    for (size_t i = 0; i < peers_.size(); ++i) {
      for (unsigned count = Random(6); count > 0; --count) {
        asked[i].push_back(Random(3));
        Send(peers_[i], Take(std::to_string(asked[i].back() + 1)));
      }
    }
    Run();
    for (size_t i = 0; i < peers_.size(); ++i) {
      std::string replies = peers_[i].TakeReplies();
      for (const unsigned row : asked[i]) {
        if (replies.empty()) break;  // The client is stopped: the rest is not sent again here.
        const size_t end = replies.find('\n');
        const std::string reply = replies.substr(0, end);
        replies.erase(0, end + 1);
        if (reply.starts_with("0\t1\t")) taken[row].push_back(std::stoi(reply.substr(4)));
      }
      ASSERT_EQ("", replies);
    }
    NextTurn();
  }
  std::string rows;
  for (int row = 0; row < 3; ++row) {
    std::sort(taken[row].rbegin(), taken[row].rend());
    for (size_t i = 0; i < taken[row].size(); ++i) {
      ASSERT_EQ(kStock - static_cast<int>(i), taken[row][i]);
    }
    rows += std::to_string(row + 1) + "," +
            std::to_string(kStock - static_cast<int>(taken[row].size())) + ";";
  }
  EXPECT_EQ(rows, store_.Dump(kTable));
}

INSTANTIATE_TEST_SUITE_P(Seeds, TurnMergeRandomTest, ::testing::Range(1u, 31u));

}  // namespace
}  // namespace rowsocket::exec
