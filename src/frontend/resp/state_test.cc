// How commands change the meaning of later commands, in turns of several items.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/resp/resp_fixture.h"
#include "model/limits.h"

namespace rowsocket::frontend {
namespace {

using exec::Item;
using Parsed = exec::Frontend::Parsed;

class RespStateTest : public RespTest {
 protected:
  static constexpr size_t kNever = SIZE_MAX;

  void Begin() {
    for (const char* name : {"rowsocket.store", "shop.t"}) store_.DropTable(name);
    store_.CreateTable({"shop.t", {"id", "v", "w"}, {{"PRIMARY", {0}}}},
                       {{"1", "10", std::nullopt}, {"2", "20", "b"}});
    store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}});
    frontend_.emplace(shared_);
    turns_ = stops_ = 0;
  }

  /// Sends all of `text` at once, and runs it turn by turn. The turn stops once at its item
  /// `stop_at`, counted among the requests of all turns.
  std::string Send(std::string_view text, size_t stop_at) {
    std::string replies;
    for (int turn = 0; !text.empty() && turn < 200; ++turn) {
      arenas_.push_back(std::make_unique<base::Arena>());
      std::vector<std::pair<Item, size_t>> items;
      const size_t parsed = ParseTurn(text, *arenas_.back(), &items);
      ++turns_;
      bool writes = false;
      for (const auto& [item, begin] : items) {
        writes = writes || (item.kind == Item::Kind::kRequest && item.request.is_write());
      }
      session_.BeginTurn(writes);
      std::vector<std::pair<const Item*, model::Error>> done;
      size_t consumed = parsed;
      for (const auto& [item, begin] : items) {
        base::Buffer out;
        model::Error answer = item.error;
        if (item.kind == Item::Kind::kRequest) {
          if (stops_++ == stop_at) {
            consumed = begin;
            break;
          }
          answer = frontend_->Execute(item, session_, out).error;
        } else {
          frontend_->Reply(item, out);
        }
        replies += out.view();
        done.emplace_back(&item, answer);
      }
      session_.Commit();
      for (const auto& [item, answer] : done) frontend_->Finished(*item, answer);
      if (consumed != parsed) frontend_->Rewind();
      text.remove_prefix(consumed);
    }
    return replies;
  }

  size_t turns_ = 0;
  size_t stops_ = 0;  ///< Requests that were met.

 private:
  size_t ParseTurn(std::string_view text, base::Arena& arena,
                   std::vector<std::pair<Item, size_t>>* items) {
    bool has_requests = false;
    size_t at = 0;
    while (at < text.size()) {
      Item item;
      const auto step = frontend_->Parse(text.substr(at), has_requests, arena, &item);
      if (step.parsed == Parsed::kLater) frontend_->Rewind();
      if (step.parsed != Parsed::kItem) break;
      if (item.is_silent()) {
        std::shared_ptr<engine::Index> index;
        const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
        frontend_->Opened(item, outcome, std::move(index));
        frontend_->Rewind();
        continue;
      }
      items->emplace_back(item, at);
      has_requests = has_requests || item.kind == Item::Kind::kRequest || item.is_large;
      at += step.consumed;
    }
    return at;
  }

  std::vector<std::unique_ptr<base::Arena>> arenas_;
};

const std::string kWatchFailed = "-EXECABORT nothing was done: a WATCH before it has failed\r\n";

struct Pipeline {
  std::vector<std::string> commands;
  size_t turns = 1;  ///< How many turns the pipeline takes when it comes at once.
};

std::string Keys(const char* prefix, int count) {
  std::string words = "WATCH";
  for (int i = 0; i < count; ++i) words += std::string(" ") + prefix + std::to_string(i);
  return words;
}

std::vector<Pipeline> Pipelines() {
  return {
      {{"SET a 1", "SELECT 1", "SET a 2", "GET a", "SELECT 0", "GET a", "SELECT 99", "GET a"}},
      {{"HGETALL t:1", "HELLO 3", "HGETALL t:1", "HELLO 4", "HELLO 2", "HGETALL t:1",
        "HELLO 3 SETNAME me", "GET none"}},
      {{"GET a", "HELLO 3 SETNAME me", "GET a", "CLIENT GETNAME", "GET a"}, 2},
      {{"SET a 1", "HELLO 3 AUTH u p", "GET none"}, 2},
      {{"SET a 1", "SELECT 2", "RESET", "GET a"}, 2},
      {{"SET a 1", "MULTI", "SET a 2", "GET a", "EXEC", "GET a", "MULTI", "SET a 3", "EXEC"}},
      {{"SET a 1", "SELECT 1", "MULTI", "SET a 2", "EXEC", "SELECT 0", "MULTI", "GET a", "EXEC"}},
      {{"SET a 1", "MULTI", "SELECT 1", "SET a 2", "EXEC", "GET a"}},
      {{"SET a 1", "MULTI", "NONE", "MULTI", "EXEC", "EXEC", "GET a"}},
      {{"SET a 1", "MULTI", "GET", "SET a 2", "DISCARD", "DISCARD", "GET a"}},
      {{"SET a 1", "MULTI", "SET a 2", "AUTH x", "CLIENT ID", "DISCARD", "SET a 3", "GET a"}, 2},
      {{"WATCH a", "MULTI", "SET a 1", "GET a", "EXEC", "GET a"}},
      {{"WATCH a", "SET a 5", "MULTI", "SET a 6", "EXEC", "GET a", "MULTI", "SET a 7", "EXEC"}},
      {{"SET a 1", "WATCH a", "SET a 5", "MULTI", "SET a 6", "EXEC", "GET a", "WATCH a", "MULTI",
        "SET a 7", "EXEC", "SET a 8", "MULTI", "SET a 9", "EXEC", "GET a"}},
      {{"WATCH t:1 t:9", "MULTI", "HINCRBY t:1 v 1", "HSET t:9 v 1", "EXEC", "WATCH t:9",
        "HSET t:9 v 2", "MULTI", "HSET t:9 v 3", "EXEC", "HGETALL t:9"}},
      {{"WATCH t:9", "HSET t:9 v 2", "HDEL t:9 v", "MULTI", "HDEL t:9 v", "EXEC", "MULTI",
        "HDEL t:9 v", "PING", "EXEC"}},
      {{"WATCH a", "SELECT 1", "WATCH a", "SET a 1", "SELECT 0", "MULTI", "SET a 2", "EXEC",
        "GET a"}},
      {{"WATCH a", "UNWATCH", "SET a 1", "MULTI", "SET a 2", "EXEC", "GET a"}},
      {{"WATCH a", "MULTI", "SET a 1", "DISCARD", "SET a 2", "MULTI", "GET a", "EXEC"}},
      {{"WATCH a", "MULTI", "PING", "EXEC", "SET a 2", "MULTI", "GET a", "EXEC"}},
      {{"WATCH a", "MULTI", "LPUSH a 1", "EXEC", "SET a 2", "MULTI", "GET a", "EXEC"}},
      {{"WATCH a", "MULTI", "WATCH b", "SET a 1", "EXEC", "GET a"}},
      {{"WATCH t:1:2", "HINCRBY t:1 v 1", "MULTI", "HINCRBY t:1 v 1", "EXEC"}},
      {{"WATCH a", "WATCH t:1:2", "MULTI", "SET a 1", "DISCARD", "MULTI", "SET a 2", "EXEC"}},
      {{"WATCH t:1:2", "UNWATCH", "MULTI", "SET a 1", "EXEC", "WATCH t:1:2", "MULTI", "SET a 2",
        "EXEC", "MULTI", "SET a 3", "EXEC", "GET a"}},
      {{"WATCH t@none:1", "MULTI", "SET a 1", "EXEC", "MULTI", "SET a 2", "EXEC", "GET a"}},
      {{"SET a 1", "WATCH t@none:1", "MULTI", "SET a 2", "EXEC", "MULTI", "SET a 3", "EXEC",
        "GET a"}},
      {{"MULTI", "SET a 1", "EXEC", "WATCH t@none:1", "MULTI", "SET a 2", "EXEC", "GET a"}},
      {{Keys("k", 40), Keys("l", 30), "MULTI", "SET a 1", "EXEC", "MULTI", "SET a 2", "EXEC",
        "GET a"},
       2},
      {{Keys("k", 64), "MULTI", "SET a 1", "EXEC", "GET a"}},
      {{"MULTI", "ROW.ONCE x", "ROW.ONCE y", "EXEC", "SET a 1", "MULTI", "ROW.REQUIRE t:1 v > 99",
        "SET a 2", "EXEC", "GET a"}},
      {{"CLIENT REPLY OFF", "SELECT 1", "SET a 1", "SELECT 0", "SET a 2", "CLIENT REPLY ON",
        "GET a"},
       2},
      {{"CLIENT REPLY SKIP", "SELECT 1", "SET a 1", "GET a", "SELECT 0", "GET a"}, 2},
  };
}

// Whether it comes at once, in two pieces or command by command, and wherever the turn stops.
TEST_F(RespStateTest, APipelineIsTheSameInOneTurnAndInMany) {
  for (const Pipeline& pipeline : Pipelines()) {
    Begin();
    std::string expected, text;
    std::vector<size_t> ends = {0};
    for (const std::string& command : pipeline.commands) {
      text += command + "\r\n";
      expected += Send(command + "\r\n", kNever);
      ends.push_back(text.size());
    }
    Begin();
    EXPECT_EQ(expected, Send(text, kNever)) << text;
    EXPECT_EQ(pipeline.turns, turns_) << text;
    const size_t requests = stops_;
    for (size_t stop_at = 0; stop_at < requests; ++stop_at) {
      Begin();
      EXPECT_EQ(expected, Send(text, stop_at)) << text << "stopped at request " << stop_at;
    }
    for (const size_t end : ends) {
      for (size_t stop_at = 0; stop_at < requests; ++stop_at) {
        Begin();
        const std::string first = Send(std::string_view(text).substr(0, end), stop_at);
        EXPECT_EQ(expected, first + Send(std::string_view(text).substr(end), stop_at))
            << text << "in pieces at byte " << end << ", stopped at request " << stop_at;
      }
    }
  }
}

// Clients send the EXEC before they know that the WATCH has failed, and rely on it.
TEST_F(RespStateTest, AnExecAfterAFailedWatchOfItsTurnIsRefused) {
  Begin();
  Item watch = Parse("WATCH a\r\n");
  ASSERT_EQ(Item::Kind::kRequest, watch.kind);
  const Item exec = Parse("MULTI\r\nSET a 1\r\nEXEC\r\n", /*after_requests=*/true);
  ASSERT_EQ(Item::Kind::kRequest, exec.kind);
  // The account's limit, for instance, may refuse the WATCH.
  watch.kind = Item::Kind::kReply;
  watch.error.code = model::ErrorCode::kAccountRate;
  Run(watch);
  EXPECT_EQ("+OK\r\n+QUEUED\r\n" + kWatchFailed, Run(exec));
  EXPECT_EQ("", store_.Dump("rowsocket.store"));
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", Ask("MULTI\r\nSET a 1\r\nEXEC"));
}

/// The client has lost the reply to the first sending, and sends all of it again.
TEST_F(RespStateTest, ATokenThatHasTakenEffectSaysSoAfterAFailedWatch) {
  const std::string once = "MULTI\r\nROW.ONCE a\r\nHINCRBY t:1 v 1\r\nEXEC\r\n";
  Begin();
  const std::string first = Send(once, kNever);
  EXPECT_TRUE(first.ends_with(":11\r\n")) << first;
  Item watch = Parse("WATCH a\r\n");
  ASSERT_EQ(Item::Kind::kRequest, watch.kind);
  const Item again = Parse(once, /*after_requests=*/true);
  ASSERT_EQ(Item::Kind::kRequest, again.kind);
  watch.kind = Item::Kind::kReply;
  watch.error.code = model::ErrorCode::kAccountRate;
  Run(watch);
  EXPECT_EQ(first, Run(again));
  EXPECT_EQ("1,11,NULL;2,20,b;", store_.Dump("shop.t"));
}

TEST_F(RespStateTest, AFailedWatchStopsTransactionsUntilItEnds) {
  const auto locks = [](const engine::fake::Call& call) {
    using Kind = engine::fake::Call::Kind;
    const bool is_of_it =
        (call.kind == Kind::kOpenIndex || call.kind == Kind::kExecute) && call.names->table == "t";
    return is_of_it ? engine::Outcome::Fail(model::ErrorCode::kLockTables) : engine::Outcome();
  };
  for (const bool is_known : {false, true}) {
    for (const std::string ends : {"", "UNWATCH", "RESET", "MULTI\r\nDISCARD"}) {
      Begin();
      if (is_known) Send("WATCH t:1\r\nUNWATCH\r\n", kNever);
      store_.SetHook(locks);
      EXPECT_TRUE(Ask("WATCH t:1").starts_with("-TRYAGAIN ")) << is_known;
      store_.SetHook({});
      if (!ends.empty()) Send(ends + "\r\n", kNever);
      const std::string set = "MULTI\r\nSET a 1\r\nEXEC\r\n",
                        done = "+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n";
      EXPECT_EQ(ends.empty() ? "+OK\r\n+QUEUED\r\n" + kWatchFailed : done, Send(set, kNever))
          << is_known << ends;
      EXPECT_EQ(done, Send(set, kNever)) << "the EXEC before has ended it";
    }
  }
}

TEST_F(RespStateTest, AWatchBeyondALimitStopsTheExecAfterIt) {
  const std::string set = "MULTI\r\nSET a 1\r\nEXEC\r\n";
  Begin();
  EXPECT_TRUE(Ask(Keys("k", 10'001)).starts_with("-TOOLARGE "));
  EXPECT_EQ("+OK\r\n+QUEUED\r\n" + kWatchFailed, Send(set, kNever));
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", Send(set, kNever));
}

// A client cannot rely on a WATCH with wrong arguments.
TEST_F(RespStateTest, AWatchThatIsRefusedStopsNoTransaction) {
  const std::string set = "MULTI\r\nSET a 1\r\nEXEC\r\n";
  Begin();
  EXPECT_EQ('-', Ask("WATCH").front());
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", Send(set, kNever));
  EXPECT_EQ("+OK\r\n-ERR WATCH inside MULTI is not allowed\r\n*0\r\n",
            Send("MULTI\r\nWATCH a\r\nEXEC\r\n", kNever));
  EXPECT_EQ("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", Send(set, kNever));
}

TEST_F(RespTest, AnIndexIsOpenedForWhatHasAskedForIt) {
  exec::Item tokens;
  const std::string outcome = "ROW.OUTCOME a\r\n";
  ASSERT_EQ(Parsed::kItem, frontend_->Parse(outcome, false, arena_, &tokens).parsed);
  ASSERT_EQ(exec::Item::Kind::kSilentOpen, tokens.kind);
  // The turn stops before it, and another command asks first.
  frontend_->Rewind();
  EXPECT_EQ("*2\r\n$1\r\nv\r\n$2\r\n10\r\n", Ask("HGETALL t:1"));
  EXPECT_EQ("*2\r\n$5\r\nnever\r\n$-1\r\n", Ask("ROW.OUTCOME a FENCE"));
  EXPECT_EQ("1,10,NULL;2,20,b;", store_.Dump("shop.t"));
}

// Each table is one index to open: they must not be forgotten while the others are opened.
TEST_F(RespTest, ACommandMayNameManyTables) {
  constexpr int kTables = 600;
  std::string command = "MGET";
  for (int i = 0; i < kTables; ++i) command += " none" + std::to_string(i) + ":a";
  command += "\r\n";
  int opens = 0;
  for (;; ++opens) {
    ASSERT_LT(opens, 3 * kTables);
    exec::Item item;
    frontend_->Parse(command, false, arena_, &item);
    if (!item.is_silent()) break;
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
    frontend_->Opened(item, outcome, std::move(index));
    frontend_->Rewind();
    arena_.Reset();
  }
  EXPECT_GE(opens, kTables);
}

TEST_F(RespTest, NoInputIsFullBeforeItIsWrong) {
  shared_.limits.line_bytes_max = 1000;
  frontend_.emplace(shared_);
  const std::string longest = "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  for (size_t bytes = 900; bytes <= 1000; ++bytes) {
    std::string input = "*20\r\n";
    for (size_t left = model::kRespBesideArgumentBytesMax; left > 1100; left -= longest.size())
      input += longest;
    input += "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n$" +
             std::string(2 * model::kRespCountBytesMax, '1');
    exec::Item item;
    const exec::Frontend::Step step = frontend_->Parse(
        std::string_view(input).substr(0, frontend_->input_bytes_max()), false, arena_, &item);
    EXPECT_EQ(Parsed::kItem, step.parsed) << bytes;
    EXPECT_TRUE(item.closes);
  }
}

TEST_F(RespTest, AValueOfTheLengthThatConfigTellsIsTaken) {
  shared_.limits.line_bytes_max = 5000;
  frontend_.emplace(shared_);
  EXPECT_EQ("*2\r\n$18\r\nproto-max-bulk-len\r\n$4\r\n5000\r\n",
            Ask("CONFIG GET proto-max-bulk-len"));
  const auto set = [](size_t bytes) {
    const std::string key(model::kRespStoreKeyBytesMax, 'k');
    return "*3\r\n$3\r\nSET\r\n$1024\r\n" + key + "\r\n$" + std::to_string(bytes) + "\r\n" +
           std::string(bytes, 'x') + "\r\n";
  };
  const std::string longest = set(5000), longer = set(5001);
  EXPECT_EQ("+OK\r\n", Run(Parse(longest)));
  EXPECT_EQ("-ERR Protocol error: invalid bulk length\r\n", Run(Parse(longer)));
}

TEST_F(RespTest, ALoginThatIsRefusedUncheckedIsWiped) {
  shared_.accounts = true;
  frontend_.emplace(shared_);
  for (const char* const line :
       {"AUTH user secret x\r\n", "HELLO 4 AUTH user secret\r\n", "HELLO 3 AUTH user secret NO\r\n",
        "HELLO 3 AUTH user secret SETNAME \"a b\"\r\n", "AUTH user secret '\r\n",
        "GET user secret\r\n", "AUHT user secret\r\n"}) {
    EXPECT_TRUE(Parse(line).wipes_input) << line;
    EXPECT_EQ(std::string::npos, Run(Parse(line)).find("secret")) << line;
  }
  const exec::Item login = Parse("AUTH user secret\r\n");
  EXPECT_EQ(exec::Item::Kind::kAuthenticate, login.kind);
  EXPECT_FALSE(login.wipes_input) << "the worker wipes it";
  base::Buffer out;
  frontend_->LoginEnded({}, out);
  Ask("MULTI");
  Parse("AUTH user secret\r\n", /*after_requests=*/true);
  EXPECT_EQ(Parsed::kLater, parsed_) << "what may be parsed again must not be wiped";
  EXPECT_TRUE(Parse("AUTH user secret\r\n").wipes_input);
  EXPECT_FALSE(Parse("PING\r\n").wipes_input);
}

TEST_F(RespTest, NamesOfClientsAreChecked) {
  const std::string wrong(kRespBadName);
  EXPECT_EQ("-" + wrong + "\r\n", Ask("HELLO 2 SETNAME \"a b\""));
  EXPECT_EQ("-" + wrong + "\r\n", Ask("HELLO 2 SETNAME \"a\\nid=1\""));
  EXPECT_EQ("-" + wrong + "\r\n", Ask("HELLO 2 SETNAME " + std::string(5000, 'x')));
  EXPECT_EQ('-', Ask("CLIENT SETINFO LIB-NAME \"a\\nb\"").front());
  EXPECT_EQ("+OK\r\n", Ask("CLIENT SETINFO LIB-NAME redis-py(cache)"));
  EXPECT_EQ("", frontend_->name());
}

TEST_F(RespTest, AnErrorOfHelloShowsTheBeginOfALongWord) {
  const std::string word(5000, 'x');
  EXPECT_EQ("-ERR Syntax error in HELLO option '" + word.substr(0, 128) + "'\r\n",
            Ask("HELLO 3 " + word));
}

}  // namespace
}  // namespace rowsocket::frontend
