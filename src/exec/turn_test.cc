#include "exec/turn.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/fake/session.h"
#include "frontend/handlersocket.h"
#include "model/limits.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;
using model::Error;

constexpr const char kTable[] = "test.t";

/// A connection as a turn sees it: what the client sends, and what it could read by now.
struct Peer {
  explicit Peer(const frontend::HandlerSocketSettings& settings) : frontend(settings) {
    client.frontend = &frontend;
    client.out = &out;
  }
  /// The replies that may leave, one a line; they leave.
  std::string TakeReplies() {
    std::string replies(out.sendable());
    out.Consume(replies.size());
    return replies;
  }

  frontend::HandlerSocket frontend;
  net::GatedOutput out;
  TurnClient client;
};

class TurnTest : public ::testing::Test {
 protected:
  TurnTest() {
    store_.CreateTable({kTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                       {{"1", "10"}, {"2", "20"}, {"3", "30"}});
    settings_.writable = true;
  }

  /// A client that has opened id 0: (id; id, v), and id 1: (id; v).
  Peer& Connect() {
    Peer& peer = peers_.emplace_back(settings_);
    Send(peer, "P\t0\ttest\tt\t\tid,v\nP\t1\ttest\tt\t\tv\n");
    Run();
    EXPECT_EQ("0\t1\n0\t1\n", peer.TakeReplies());
    return peer;
  }

  /// Puts requests into the turn, as a worker does.
  void Send(Peer& peer, std::string_view lines) {
    std::string_view input = inputs_.emplace_back(lines);
    bool behind_requests = false;
    size_t begin = 0;
    while (!input.empty()) {
      TurnItem& item = turn_.Add(peer.client);
      const Frontend::Step step =
          peer.frontend.Parse(input, behind_requests, arena_, &item.item);
      ASSERT_EQ(Frontend::Parsed::kItem, step.parsed);
      item.input_begin = begin;
      item.input_end = begin += step.consumed;
      input.remove_prefix(step.consumed);
      behind_requests = behind_requests || item.item.kind == Item::Kind::kRequest;
      if (item.item.kind == Item::Kind::kOpen) Open(peer, item);
      turn_.Added();
    }
  }
  void Open(Peer& peer, TurnItem& item) {
    std::shared_ptr<engine::Index> index;
    const Outcome outcome = session_.OpenIndex(*item.item.names, &index);
    if (!outcome.busy) peer.frontend.Opened(item.item, outcome, std::move(index));
  }

  /// Runs the turn. Until its transaction is over, nothing may leave (I4).
  void Run() {
    turn_.Run(session_);
    for (const TurnItem& item : turn_.items()) EXPECT_FALSE(item.client->out->held());
  }
  void NextTurn() {
    turn_.Clear();
    arena_.Reset();
    inputs_.clear();
    for (Peer& peer : peers_) peer.client.stopped_at = nullptr;
  }

  /// Asks `hook` as well, and checks at every call that no reply can be sent.
  void SetHook(engine::fake::Hook hook = {}) {
    store_.SetHook([this, hook = std::move(hook)](const Call& call) {
      if (call.kind == Call::Kind::kExecute || call.kind == Call::Kind::kCommit) {
        for (const Peer& peer : peers_) EXPECT_EQ("", peer.out.sendable());
      }
      return hook ? hook(call) : Outcome();
    });
  }
  /// A hook for statements about one key: fails the first `times` of them with `outcome`.
  static engine::fake::Hook FailKey(const std::string& key, uint64_t times, Outcome outcome) {
    return [key, times, outcome, seen = std::make_shared<uint64_t>(0)](const Call& call) {
      const bool hit = call.kind == Call::Kind::kExecute &&
                       engine::fake::FirstValue(*call.request) == key && ++*seen <= times;
      return hit ? outcome : Outcome();
    };
  }
  static engine::fake::Hook FailAlways(const std::string& key, Outcome outcome) {
    return FailKey(key, UINT64_MAX, outcome);
  }

  uint64_t Stat(exec::Stat stat) const { return registry_.Sum(stat); }
  uint64_t Errors(model::ErrorCode code) const { return registry_.Sum(ErrorStat(code)); }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  frontend::HandlerSocketSettings settings_;
  StatRegistry registry_;
  StatBlock stats_{registry_};
  base::Arena arena_;
  std::deque<std::string> inputs_;
  std::deque<Peer> peers_;
  Turn turn_{stats_};
};

TEST_F(TurnTest, RepliesKeepRequestOrder) {
  Peer& peer = Connect();
  NextTurn();
  Send(peer,
       "0\t=\t1\t1\n"              // a row
       "bad\n"                     // an error that the frontend knows
       "0\t+\t2\t9\t90\n"          // an insert
       "0\t=\t1\t9\n"              // which the find behind it sees
       "1\t=\t1\t2\t1\t0\tU\t21\n"
       "0\t+\t2\t1\t11\n"          // an error that the engine knows
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
  NextTurn();
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

TEST_F(TurnTest, FailedStatementLeavesNothingAndTheOthersStand) {
  Peer& one = Connect();
  Peer& two = Connect();
  NextTurn();
  Send(one, "0\t+\t2\t4\t40\n0\t>=\t1\t1\t9\t0\tU\t50\t0\n");  // All rows to one key.
  Send(two, "0\t+\t2\t5\t55\n");
  Run();
  EXPECT_EQ("0\t1\n1\t1\t121\n", one.TakeReplies());
  EXPECT_EQ("0\t1\n", two.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;4,40;5,55;", store_.Dump(kTable));
}

// The hook looks at every output at each statement and at the commit: also at those of clients
// that only read, whose replies may not stand if the turn has to be run again.
TEST_F(TurnTest, NothingLeavesBeforeTheCommitHasReturned) {
  Peer& writer = Connect();
  Peer& reader = Connect();
  NextTurn();
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
  NextTurn();
  SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Send(one, "0\t+\t2\t4\t40\nbad\n0\t=\t1\t4\n");
  Send(two, "1\t=\t1\t1\t1\t0\tU\t11\n");
  Run();
  // What never went to the engine keeps its answer.
  EXPECT_EQ("1\t1\t5\n2\t1\tcmd\n1\t1\t5\n", one.TakeReplies());
  EXPECT_EQ("1\t1\t5\n", two.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(1u, Stat(Stat::kCommitFailures));
  EXPECT_EQ(0u, Stat(Stat::kCommits));
  EXPECT_EQ(0u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(3u, Errors(model::ErrorCode::kEngine));
  NextTurn();
  Send(one, "0\t+\t2\t4\t40\n");
  Run();
  EXPECT_EQ("0\t1\n", one.TakeReplies());
}

TEST_F(TurnTest, FailedCommitAnswersWhatWasExecutedBeforeAClientStopped) {
  Peer& peer = Connect();
  NextTurn();
  const auto held = store_.LockRow(kTable, {"2"});
  SetHook(engine::fake::FailCommits(1, Error::Engine(5)));
  Send(peer, "0\t+\t2\t4\t40\n1\t=\t1\t2\t1\t0\tU\t21\n0\t=\t1\t1\n");
  Run();
  EXPECT_EQ("1\t1\t5\n", peer.TakeReplies());
  ASSERT_TRUE(peer.client.stopped());
  EXPECT_EQ(&turn_.items()[1], peer.client.stopped_at);
}

TEST_F(TurnTest, DeadlockRunsTheBatchAgain) {
  Peer& one = Connect();
  Peer& two = Connect();
  NextTurn();
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
  // Counted as the client sees it, not as often as it was tried.
  EXPECT_EQ(3u, Stat(Stat::kIncrements));
  EXPECT_EQ(3u, Stat(Stat::kRowsWritten));
  EXPECT_EQ(1u, Stat(Stat::kFinds));
}

TEST_F(TurnTest, BatchThatDeadlocksAgainAndAgainRunsRequestByRequest) {
  Peer& one = Connect();
  Peer& two = Connect();
  NextTurn();
  const uint64_t turns_before = store_.calls(Call::Kind::kBeginTurn);
  SetHook(FailAlways("2", engine::fake::Deadlock()));
  Send(one, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n0\t=\t1\t1\n");
  Send(two, "1\t=\t1\t3\t1\t0\t+\t1\n");
  store_.SetHook(FailAlways("2", engine::fake::Deadlock()));  // Replies leave one by one now.
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

TEST_F(TurnTest, DeadlockInATurnThatOnlyReadsRunsItAgain) {
  Peer& peer = Connect();
  NextTurn();
  SetHook(engine::fake::DeadlockAt({2}));
  Send(peer, "0\t=\t1\t1\n0\t=\t1\t2\n");
  Run();
  EXPECT_EQ("0\t2\t1\t10\n0\t2\t2\t20\n", peer.TakeReplies());
}

TEST_F(TurnTest, KillOfAStatementAnswersItAlone) {
  Peer& one = Connect();
  Peer& two = Connect();
  NextTurn();
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
  NextTurn();
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
  NextTurn();
  SetHook([fail_key = FailKey("2", 1, engine::fake::KilledTurn()),
           fail_commit = engine::fake::FailCommits(1, Error::Engine(5))](const Call& call) {
    return call.kind == Call::Kind::kCommit ? fail_commit(call) : fail_key(call);
  });
  Send(peer, "1\t=\t1\t1\t1\t0\t+\t1\n1\t=\t1\t2\t1\t0\t+\t1\n");
  Run();
  EXPECT_EQ("1\t1\t5\n1\t1\tkilled\n", peer.TakeReplies());
}

// Four deadlocks of the batch, three of the request alone, and a KILL at its last try.
TEST_F(TurnTest, KillOfTheLastTryIsAnsweredAsSuch) {
  Peer& peer = Connect();
  NextTurn();
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

}  // namespace
}  // namespace rowsocket::exec
