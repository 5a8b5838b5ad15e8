// Requests with a token in a turn: what becomes of request and token when another session or a
// failure comes between them.
#include "frontend/handlersocket/exec_test/turn_fixture.h"

namespace rowsocket::exec {
namespace {

constexpr const char kTokens[] = "rowsocket.tokens";
constexpr const char kTake[] = "T\ta\t0\t=\t1\t1\t1\t0\t-\t0\t1\n";

class TurnTokenTest : public TurnFixture {
 protected:
  TurnTokenTest() {
    settings_.serves_tokens = true;
    settings_.tokens.ttl_s = 100;
    settings_.tokens.now_s = [] { return uint64_t{5000}; };
    settings_.tokens.calendar = std::make_shared<CalendarWatch>();
    MakeTokens({});
  }

  void MakeTokens(const std::vector<engine::fake::Row>& rows, bool permanent = false) {
    store_.CreateTable({kTokens,
                        {"token", "request", "answer", "created"},
                        {{"PRIMARY", {0}}, {"created", {3}}},
                        false,
                        permanent},
                       rows);
  }
  /// Sends as a worker does: the indexes of the table of tokens are opened first.
  void SendTokened(Peer& peer, std::string_view line) {
    for (;;) {
      Item item;
      peer.frontend.Parse(line, false, arena_, &item);
      peer.frontend.Rewind();
      if (!item.opens()) break;
      std::shared_ptr<engine::Index> index;
      const Outcome outcome = session_.OpenIndex(*item.names, &index);
      peer.frontend.Opened(item, outcome, std::move(index));
    }
    Send(peer, line);
  }
  /// Sends one request with its token twice, each time in a turn of its own.
  void ExpectToTakeOnce(Peer& peer) {
    for (int i = 0; i < 2; ++i) {
      SendTokened(peer, kTake);
      Run();
      EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
      NextTurn();
    }
    EXPECT_EQ("1,9;2,20;3,30;", store_.Dump(kTable));
  }
};

TEST_F(TurnTokenTest, RepeatedRequestIsAnsweredFromItsToken) { ExpectToTakeOnce(Connect()); }

TEST_F(TurnTokenTest, WhatStandsBehindAQuestionAboutATokenIsIgnored) {
  Peer& peer = Connect();
  for (const auto& [line, reply] :
       {std::pair("T\ta\t?\n", "0\t2\tunknown\t0\n"),
        std::pair("T\ta\t?\tx\n", "0\t2\tunknown\t0\n"),
        std::pair("T\ta\t!\tx\n", "0\t2\tnever\t0\n"), std::pair("T\ta\t?x\n", "2\t1\tcmd\n")}) {
    SendTokened(peer, line);
    Run();
    EXPECT_EQ(reply, peer.TakeReplies()) << line;
    NextTurn();
  }
}

// An absent row locks nothing in InnoDB: between the look and the request another session may keep
// the token.
TEST_F(TurnTokenTest, TokenThatAnotherSessionKeepsMeanwhileIsNotOverwritten) {
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  bool kept = false;
  SetHook([&](const Call& call) {
    const bool is_request = call.kind == Call::Kind::kExecute && call.names->table == "t";
    if (is_request && !std::exchange(kept, true)) MakeTokens({{"a", "another", "0\t1\n", "5000"}});
    return Outcome();
  });
  Run();
  EXPECT_EQ("1\t1\ttokendiffers\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ("a,another,0\t1\n,5000;", store_.Dump(kTokens));
}

TEST_F(TurnTokenTest, TableOfTokensThatCannotTakeARowBackIsRefused) {
  MakeTokens({}, true);
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  Run();
  EXPECT_EQ("1\t1\ttokentable\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ("", store_.Dump(kTokens));
}

TEST_F(TurnTokenTest, RequestThatCannotBeTakenBackIsExecutedOnceWhateverItsTokenMeets) {
  store_.CreateTable({kTable, {"id", "v"}, {{"PRIMARY", {0}}}, false, true}, {{"1", "10"}});
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  bool lost = false;
  SetHook([&](const Call& call) {
    const bool keeps = call.kind == Call::Kind::kExecute && call.names->table == "tokens" &&
                       store_.Dump(kTable) == "1,9;";
    return keeps && !std::exchange(lost, true) ? engine::fake::Deadlock() : Outcome();
  });
  Run();
  EXPECT_TRUE(lost);
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,9;", store_.Dump(kTable));
}

// A session that waits for locks would meanwhile keep all others from the row of the request.
TEST_F(TurnTokenTest, SessionThatWaitsForLocksLeavesExpiredTokensToOthers) {
  MakeTokens({{"old", "another", "0\t1\n", "1"}});
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  engine::fake::Session waits(store_, engine::LockWait::kServer);
  turn_.Run(waits);
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
  EXPECT_EQ(2u, store_.RowCount(kTokens));
  NextTurn();
  SendTokened(peer, "T\tb\t0\t=\t1\t1\t1\t0\t-\t0\t1\n");
  Run();
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
  EXPECT_EQ(2u, store_.RowCount(kTokens));
}

TEST_F(TurnTokenTest, NothingHasExpiredWhereTheClockIsNear1970) {
  settings_.tokens.now_s = [] { return uint64_t{50}; };  // The tokens' time is 100 seconds.
  MakeTokens({{"old", "another", "0\t1\n", "10"}});
  ExpectToTakeOnce(Connect());
  EXPECT_EQ(2u, store_.RowCount(kTokens));
}

// The time of day jumps forward, and is put right later. The tokens' time is 100 seconds.
TEST_F(TurnTokenTest, JumpOfTheCalendarMakesNoTokenExpire) {
  uint64_t now_s = 5000, running_s = 40;
  settings_.tokens.now_s = [&now_s] { return now_s; };
  settings_.tokens.running_s = [&running_s] { return running_s; };
  MakeTokens({{"old", "another", "0\t1\n", "1"}});
  Peer& peer = Connect();
  const auto take = [&](const std::string& token) {
    SendTokened(peer, "T\t" + token + "\t0\t=\t1\t1\t1\t0\t-\t0\t1\n");
    Run();
    EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
    NextTurn();
    return store_.Dump(kTable).substr(0, 4);
  };
  EXPECT_EQ("1,9;", take("a"));
  EXPECT_EQ(1u, store_.RowCount(kTokens)) << "the old token has been removed";
  now_s += 200;
  running_s += 1;
  EXPECT_EQ("1,9;", take("a"));
  EXPECT_EQ("1,8;", take("b"));
  EXPECT_EQ(2u, store_.RowCount(kTokens));
  now_s -= 190;
  running_s += 10;
  EXPECT_EQ("1,8;", take("a"));
  // By now the first token is as old as it may become, whatever the calendar said meanwhile.
  now_s += 91;
  running_s += 91;
  EXPECT_EQ("1,7;", take("a"));
}

TEST_F(TurnTokenTest, PluginThatStartsAfterAJumpKnowsOfIt) {
  EXPECT_EQ(TokenSettings().calendar, TokenSettings().calendar);
}

// innodb_rollback_on_timeout: the lock of another session on an expired token takes the turn back.
TEST_F(TurnTokenTest, LockOfAnExpiredTokenCostsOneTurnNowAndThen) {
  uint64_t now_s = 9000;  // Other tests are not this late.
  settings_.tokens.now_s = [&now_s] { return now_s; };
  MakeTokens({{"old", "another", "0\t1\n", "1"}});
  Peer& peer = Connect();
  unsigned purges = 0;
  SetHook([&purges](const Call& call) {
    Outcome outcome;
    if (call.kind != Call::Kind::kExecute || call.names->index != "created") return outcome;
    ++purges;
    outcome = Outcome::Make(Outcome::Result::kBusy, {model::ErrorCode::kLockWait});
    outcome.transaction_lost = true;
    return outcome;
  });
  const auto take = [&](const std::string& token) {
    SendTokened(peer, "T\t" + token + "\t0\t=\t1\t1\t1\t0\t-\t0\t1\n");
    Run();
    EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
    NextTurn();
  };
  take("a");
  EXPECT_EQ(1u, purges);
  EXPECT_EQ(1u, Stat(exec::Stat::kBatchRetries));
  now_s += model::kTokenPurgePauseS - 1;
  take("b");
  EXPECT_EQ(1u, purges);
  ++now_s;
  take("c");
  EXPECT_EQ(2u, purges);
  EXPECT_EQ(2u, Stat(exec::Stat::kBatchRetries));
  EXPECT_EQ("1,7;2,20;3,30;", store_.Dump(kTable));
}

// A statement that fails in a unit may have removed a token: the unit must not be kept with that.
TEST_F(TurnTokenTest, PurgeThatFailsInAUnitTakesTheUnitBack) {
  settings_.tokens.now_s = [] { return uint64_t{20000}; };  // Other tests are not this late.
  MakeTokens({{"old", "another", "0\t1\n", "1"}});
  Peer& peer = Connect();
  unsigned purges = 0;
  SetHook([&purges](const Call& call) {
    if (call.kind != Call::Kind::kExecute || call.names->index != "created") return Outcome();
    ++purges;
    return Outcome::Of(model::Error::Engine(1205));
  });
  SendTokened(peer, "T\ta\tG\t1\nR\t0\t=\t1\t1\t1\t0\t-\t0\t1\n");
  Run();
  EXPECT_EQ(1u, purges) << "the unit has run again without a purge";
  EXPECT_EQ(1u, Stat(exec::Stat::kBatchRetries));
  EXPECT_EQ("1,9;2,20;3,30;", store_.Dump(kTable));
  EXPECT_EQ(2u, store_.RowCount(kTokens));
}

// Each plugin has its own time for tokens, and all have one table.
TEST_F(TurnTokenTest, RowStaysForTheLongestTimeOfAllPlugins) {
  TokenBook::KeepFor(1000);
  TokenBook::KeepFor(10);
  MakeTokens({{"of another", "request", "0\t1\n", "4001"}, {"old", "request", "0\t1\n", "3999"}});
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  Run();
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
  const std::string tokens = store_.Dump(kTokens);
  EXPECT_NE(std::string::npos, tokens.find("of another,"));
  EXPECT_EQ(std::string::npos, tokens.find("old,"));
}

TEST_F(TurnTokenTest, TokenOlderThanTheTimeOfItsPluginIsNewThoughItsRowIsThere) {
  TokenBook::KeepFor(1000);
  MakeTokens({{"a", "another", "0\t1\n", "4500"}});
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  Run();
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies());
  EXPECT_EQ("1,9;2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnTokenTest, EndOfAWaitForATokenDoesNotEndOtherWaits) {
  Peer &first = Connect(), &second = Connect();
  SendTokened(first, kTake);
  SendTokened(second, "T\tb\t0\t=\t1\t1\t1\t0\t-\t0\t1\n");
  SetHook([](const Call& call) {
    const bool is_token = call.kind == Call::Kind::kExecute && call.names->table == "tokens";
    const bool is_first = is_token && engine::fake::FirstValue(*call.request) == "a";
    return is_first ? Outcome::Fail(model::ErrorCode::kLockTables) : Outcome();
  });
  engine::fake::Session waits(store_, engine::LockWait::kServer);
  Turn together(stats_, commits_, Turn::WaitPolicy::kAllForOneLock);
  for (TurnItem& item : turn_.items()) {
    together.Add(*item.client) = item;
    together.Added();
  }
  together.Run(waits);
  EXPECT_EQ("1\t1\tlock_tables\n", first.TakeReplies());
  EXPECT_EQ("0\t1\t1\n", second.TakeReplies());
}

TEST_F(TurnTokenTest, MissingTableIsNamedInTheAnswer) {
  Peer& peer = Connect();
  SendTokened(peer, kTake);
  store_.DropTable(kTokens);
  Run();
  EXPECT_EQ("1\t1\ttokentable\n", peer.TakeReplies());
  EXPECT_EQ("1,10;2,20;3,30;", store_.Dump(kTable));
}

TEST_F(TurnTokenTest, TableThatCannotBeOpenedJustNowIsNotMissing) {
  using model::Error;
  using model::ErrorCode;
  Peer& peer = Connect();
  const auto answer = [&](std::string_view line, const Error& error) {
    Item open, answered;
    peer.frontend.Parse(line, false, arena_, &open);
    peer.frontend.Rewind();
    EXPECT_EQ(Item::Kind::kSilentOpen, open.kind);
    peer.frontend.Opened(open, Outcome::Of(error), nullptr);
    peer.frontend.Parse(line, false, arena_, &answered);
    peer.frontend.Rewind();
    EXPECT_EQ(Item::Kind::kReply, answered.kind);
    return answered.error;
  };
  for (const std::string_view line : {kTake, "T\ta\tG\t1\nR\t0\t=\t1\t1\t1\t0\t-\t0\t1\n"}) {
    for (const Error error :
         {Error{ErrorCode::kLockTables}, Error::CannotOpen(1812), Error::Engine(28)})
      EXPECT_EQ(error, answer(line, error)) << line << Name(error.code);
    for (const ErrorCode code : {ErrorCode::kOpenTable, ErrorCode::kIdxnum, ErrorCode::kFld})
      EXPECT_EQ(Error{ErrorCode::kTokenTable}, answer(line, {code})) << line << Name(code);
  }
  SendTokened(peer, kTake);
  Run();
  EXPECT_EQ("0\t1\t1\n", peer.TakeReplies()) << "it is tried again";
}

TEST_F(TurnTokenTest, CommitConcernsTheTableOfTokens) {
  class Nobody final : public CommitBoard::Watcher {
    void CommitsEnded() override {}
  } nobody;
  Peer &buyer = Connect(), &reader = Connect();
  Send(reader, "P\t2\trowsocket\ttokens\t\tanswer\n");
  Run();
  reader.TakeReplies();
  NextTurn();
  SendTokened(buyer, kTake);
  const std::vector<TurnItem> writes = std::move(turn_.items());
  turn_.Clear();
  CommitUnderWay commit;
  commits_.Enter(commit, writes);
  Send(reader, "2\t=\t1\ta\n");
  EXPECT_NE(0u, commits_.MarkUndurable(turn_.items(), session_, nobody));
  commits_.Leave(commit);
  commits_.Forget(nobody);
}

}  // namespace
}  // namespace rowsocket::exec
