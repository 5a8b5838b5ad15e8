#include "frontend/handlersocket/frontend.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "engine/fake/session.h"

namespace rowsocket::frontend {
namespace {

using engine::fake::Call;
using exec::Item;
using Parsed = exec::Frontend::Parsed;

constexpr const char kOpen[] = "P\t0\ttest\tt\tPRIMARY\tid,v\tv\n";

class HandlerSocketTest : public ::testing::Test {
 protected:
  HandlerSocketTest() {
    store_.CreateTable({"test.t", {"id", "v"}, {{"PRIMARY", {0}}}},
                       {{"1", "10"}, {"2", std::nullopt}});
    store_.CreateTable({"test.auto", {"id", "v"}, {{"PRIMARY", {0}}}, true});
    settings_.writable = true;
  }

  /// A new connection, with these settings.
  void Connect(bool writable = true, const std::string& secret = "") {
    settings_.writable = writable;
    ASSERT_TRUE(settings_.secret.Set(secret));
    frontend_.emplace(settings_);
  }
  /// The reply to one line, executed in a turn of its own, without its LF.
  std::string Ask(const std::string& line) {
    if (!frontend_) Connect();
    base::Arena arena;
    base::Buffer out;
    Item item;
    const exec::Frontend::Step step = frontend_->Parse(line, false, arena, &item);
    EXPECT_EQ(Parsed::kItem, step.parsed) << line;
    EXPECT_EQ(line.size(), step.consumed);
    if (item.opens()) {
      std::shared_ptr<engine::Index> index;
      const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
      frontend_->Opened(item, outcome, std::move(index));
    }
    if (item.kind == Item::Kind::kRequest) {
      session_.BeginTurn(item.request.is_write());
      const engine::Outcome outcome = frontend_->Execute(item, session_, out);
      if (outcome.transaction_lost)
        session_.Rollback();
      else
        session_.Commit();
    } else {
      frontend_->Reply(item, out);
    }
    std::string reply(out.view());
    if (!reply.empty()) {
      EXPECT_EQ('\n', reply.back());
      reply.pop_back();
    }
    return reply;
  }
  void ExpectReplies(std::initializer_list<std::pair<const char*, const char*>> session) {
    for (const auto& [line, reply] : session) EXPECT_EQ(reply, Ask(line)) << line;
  }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  HandlerSocketSettings settings_;
  std::optional<HandlerSocketFrontend> frontend_;
};

TEST_F(HandlerSocketTest, RepliesOfEveryVerb) {
  ExpectReplies({{kOpen, "0\t1"},
                 {"0\t=\t1\t1\n", "0\t2\t1\t10"},
                 {"0\t=\t1\t9\n", "0\t2"},
                 {"0\t<=\t1\t1\t9\t0\r\n", "0\t2\t1\t10"},
                 {"0\t=\t1\t1\t1\t0\tU\t1\t11\n", "0\t1\t1"},
                 {"0\t=\t1\t1\t1\t0\tU?\t1\t12\n", "0\t2\t1\t11"},
                 {"0\t=\t1\t9\t1\t0\tD\n", "0\t1\t0"},
                 {"0\t=\t1\t9\t1\t0\tD?\n", "0\t2"},
                 {"0\t+\t2\t5\t50\n", "0\t1"},
                 {"0\t+\t2\t5\t50\n", "1\t1\t121"},
                 {"P\t1\ttest\tauto\t\tv\n", "0\t1"},
                 {"1\t+\t1\t7\n", "0\t1\t1"},
                 {"P\t1\ttest\tauto\t\tid,v\n", "0\t1"},
                 {"1\t+\t2\t5\t7\n", "0\t1\t0"}});
}

TEST_F(HandlerSocketTest, NullCellsAreOneZeroByte) {
  ASSERT_EQ("0\t1", Ask(kOpen));
  EXPECT_EQ(std::string("0\t2\t2\t\0", 7), Ask("0\t=\t1\t2\n"));
}

TEST_F(HandlerSocketTest, IdsAreReplacedOnlyBySuccess) {
  ExpectReplies({{"3\t=\t1\t1\n", "2\t1\tstmtnum"},
                 {"P\t3\ttest\tt\t\tv\n", "0\t1"},
                 {"3\t=\t1\t1\n", "0\t1\t10"},
                 {"P\t3\ttest\tnone\t\tv\n", "1\t1\topen_table"},
                 {"P\t3\ttest\tt\tnone\tv\n", "2\t1\tidxnum"},
                 {"P\t3\ttest\tt\t\tnone\n", "2\t1\tfld"},
                 {"3\t=\t1\t1\n", "0\t1\t10"},
                 {"P\t3\ttest\tt\t\t\n", "0\t1"},
                 {"3\t=\t1\t1\n", "0\t0"},
                 {"2\t=\t1\t1\n", "2\t1\tstmtnum"}});
}

TEST_F(HandlerSocketTest, IdsHaveALimitOfColumnsTogether) {
  const auto open = [this](unsigned id, unsigned columns) {
    std::string line = "P\t" + std::to_string(id) + "\ttest\tt\t\tv";
    for (unsigned i = 1; i < columns; ++i) line += ",v";
    return Ask(line + "\n");
  };
  for (unsigned id = 0; id < 16; ++id) EXPECT_EQ("0\t1", open(id, 4096));
  EXPECT_EQ("2\t1\tvalueslen", open(16, 1));
  EXPECT_EQ("0\t1", open(3, 4096));
  EXPECT_EQ("0\t1", open(3, 4000));
  EXPECT_EQ("0\t1", open(16, 96));
  EXPECT_EQ("2\t1\tvalueslen", open(17, 1));
  settings_.limits.index_ids_max = 2048;
  EXPECT_EQ("0\t1", open(2047, 4096));
}

// Each line has at least two faults; the first in the order of the protocol's table is answered.
TEST_F(HandlerSocketTest, FirstOfSeveralFaultsIsAnswered) {
  for (const bool writable : {false, true}) {
    Connect(writable);
    const char* const port = writable ? "write port" : "read port";
    ASSERT_EQ("0\t1", Ask(kOpen));
    const struct {
      const char* line;
      const char* on_read_port;
      const char* on_write_port;
    } cases[] = {
        {"Z\t=\tx\n", "cmd", "cmd"},
        {"P\tx\ttest\tnone\n", "number", "number"},
        {"P\t9999\ttest\tnone\n", "stmtnum", "stmtnum"},
        {"P\t0\tnone\tnone\tnone\tnone\n", "open_table", "open_table"},
        {"P\t0\ttest\tt\tnone\tnone\n", "idxnum", "idxnum"},
        {"7\t~\tx\n", "stmtnum", "stmtnum"},
        {"7x\t=\t0\n", "number", "number"},
        {"7\t+\t1\t1\n", "stmtnum", "stmtnum"},
        {"0\t~\tx\t1\n", "number", "number"},
        {"0\t~\t1\t1\t1\t0\t@\t0\t0\n", "invalueslen", "invalueslen"},
        {"0\t=\t1\t1\t1\t0\t@\t0\t0\tFF\t~\t9\t1\n", "invalueslen", "invalueslen"},
        {"0\t=\t1\t1\t1\t0\tFF\t~\t9\t1\n", "filtertype", "filtertype"},
        {"0\t=\t1\t1\t1\t0\tF\t~\t9\t1\n", "filterfld", "filterfld"},
        {"0\t=\t1\t1\t1\t0\tF\t~\t0\t1\n", "op", "op"},
        {"0\t~\t0\t1\t0\tX\n", "op", "op"},
        {"0\t=\t0\t1\t0\tX\n", "klen", "klen"},
        {"0\t=\t1\t1\t1\t0\tX\n", "readonly", "modop"},
        {"0\t=\t2\t1\t1\t1\t0\tX\n", "readonly", "modop"},
        {"0\t=\t2\t1\t1\t1\t0\tD\n", "readonly", "kpnum"},
        {"0\t=\t2\t1\t1\n", "kpnum", "kpnum"},
        {"0\t+\t0\n", "klen", "klen"},
        {"0\t+\t99999\t1\n", "valueslen", "valueslen"},
        {"0\t+\t1\t1\n", "readonly", "121"},
        {"0\tS\t0\n", "klen", "klen"},
        {"0\tS\t1\t1\t1\t0\tD\n", "readonly", "notimpl"},
    };
    for (const auto& test : cases) {
      const std::string reply = Ask(test.line);
      EXPECT_EQ(writable ? test.on_write_port : test.on_read_port,
                reply.substr(reply.rfind('\t') + 1))
          << port << ": " << test.line;
    }
  }
}

TEST_F(HandlerSocketTest, FaultsThatNeedNoEngineDoNotReachIt) {
  Connect(false);
  ASSERT_EQ("0\t1", Ask(kOpen));
  const uint64_t opens_before = store_.calls(Call::Kind::kOpenIndex);
  for (const char* line : {"P\t9999\ttest\tt\t\tv\n", "P\tx\ttest\tt\t\tv\n", "5\t=\t1\t1\n",
                           "0\t+\t1\t1\n", "0\t=\t1\t1\t1\t0\tD\n", "\n"}) {
    EXPECT_EQ("2\t1\t", Ask(line).substr(0, 4)) << line;
  }
  EXPECT_EQ(opens_before, store_.calls(Call::Kind::kOpenIndex));
  EXPECT_EQ(0u, store_.calls(Call::Kind::kExecute));
}

TEST_F(HandlerSocketTest, WithoutASecretOnlyTheEmptyKeyIsRight) {
  ExpectReplies({{"A\t1\n", "0\t1"},
                 {"A\t1\t\n", "0\t1"},
                 {"A\t1\tany\n", "3\t1\tunauth"},
                 {kOpen, "0\t1"},  // A wrong key, which takes no access away.
                 {"A\t2\n", "3\t1\tauthtype"},
                 {"A\n", "3\t1\tauthtype"},
                 {"0\t=\t1\t1\n", "0\t2\t1\t10"}});
  EXPECT_EQ("3\t1\tunauth", Ask(std::string("A\t1\t\0\n", 6)));
}

TEST_F(HandlerSocketTest, WithASecretItsKeyIsNeeded) {
  Connect(true, "secret");
  EXPECT_FALSE(frontend_->authenticated());
  ExpectReplies({{kOpen, "3\t1\tunauth"},
                 {"0\t=\t1\t1\n", "3\t1\tunauth"},
                 {"0\t~\tx\n", "3\t1\tunauth"},
                 {"7\t+\t1\t1\n", "3\t1\tunauth"},
                 {"\n", "2\t1\tcmd"},
                 {"Q\n", "2\t1\tcmd"},
                 {"A\t1\n", "3\t1\tunauth"},
                 {"A\t1\tsecre\n", "3\t1\tunauth"},
                 {"A\t1\tsecrets\n", "3\t1\tunauth"},
                 {"A\t2\tsecret\n", "3\t1\tauthtype"},
                 {kOpen, "3\t1\tunauth"},
                 {"A\t1\tsecret\n", "0\t1"},
                 {kOpen, "0\t1"}});
  EXPECT_TRUE(frontend_->authenticated());
}

TEST_F(HandlerSocketTest, ValuesOfClientsWithoutAccessTakeNoMemory) {
  Connect(true, "secret");
  base::Arena arena;
  exec::Item item;
  const std::string_view line = "0\t=\t1\tx\t1\t0\t@\t0\t10000\n";
  ASSERT_EQ(Parsed::kItem, frontend_->Parse(line, false, arena, &item).parsed);
  EXPECT_EQ(model::ErrorCode::kUnauth, item.error.code);
  EXPECT_LT(arena.allocated_bytes(), 10'000 * sizeof(model::Value));
}

TEST_F(HandlerSocketTest, WrongKeyDropsTheAuthorizationAndAWrongTypeLeavesIt) {
  Connect(true, "secret");
  ExpectReplies({{"A\t1\tsecret\n", "0\t1"},
                 {kOpen, "0\t1"},
                 {"A\t2\twrong\n", "3\t1\tauthtype"},
                 {"0\t=\t1\t1\n", "0\t2\t1\t10"},
                 {"A\t1\twrong\n", "3\t1\tunauth"},
                 {"0\t=\t1\t1\n", "3\t1\tunauth"},
                 {"A\t2\tsecret\n", "3\t1\tauthtype"},
                 {"0\t=\t1\t1\n", "3\t1\tunauth"},
                 {"A\t1\tsecret\n", "0\t1"},
                 {"0\t=\t1\t1\n", "0\t2\t1\t10"}});  // The ids are still there.
}

TEST_F(HandlerSocketTest, AWrongKeyIsALoginOfNobodyAndAPasswordIsNot) {
  settings_.accounts = settings_.delays_refusals = true;
  Connect(true, "secret");
  for (const bool has_password : {false, true}) {
    for (std::string line : has_password ? std::array{"A\t1\t:x\n", "A\t2\t\tx\n", "A\t2\tu\t\n"}
                                         : std::array{"A\t1\tx\n", "A\t1\n", "A\t1\tsecre\n"}) {
      base::Arena arena;
      Item item;
      ASSERT_EQ(Parsed::kItem, frontend_->Parse(line, false, arena, &item).parsed);
      ASSERT_EQ(Item::Kind::kAuthenticate, item.kind) << line;
      EXPECT_NE(has_password, item.credentials->refuse_unchecked) << line;
    }
  }
}

TEST_F(HandlerSocketTest, HealthSaysWhatTheServerTakes) {
  model::Health health;
  health.version = "10.11.18";
  settings_.health = [&] { return health; };
  Connect();
  ExpectReplies({{"H\n", "0\t6\tprimary\trunning\t1\t1\t10.11.18\t0"},
                 {"H\twrite\n", "0\t1"},
                 {"H\tread\t0\n", "0\t1"}});
  health.role = model::Health::Role::kReplica;
  health.writes = false;
  health.lag_s = 7;
  ExpectReplies({{"H\n", "0\t6\treplica\trunning\t1\t0\t10.11.18\t7"},
                 {"H\twrite\n", "1\t1\tunavailable"},
                 {"H\tread\n", "0\t1"},
                 {"H\tread\t7\n", "0\t1"},
                 {"H\tread\t6\n", "1\t1\tunavailable"}});
  health.state = "stopped";
  health.lag_s = std::nullopt;
  EXPECT_EQ(std::string("0\t6\treplica\tstopped\t1\t0\t10.11.18\t") + '\0', Ask("H\n"));
  ExpectReplies({{"H\tread\t18446744073709551615\n", "1\t1\tunavailable"}, {"H\tread\n", "0\t1"}});
  health.reads = false;
  EXPECT_EQ("1\t1\tunavailable", Ask("H\tread\n"));
}

TEST_F(HandlerSocketTest, PositionSaysWhichTransactionsTheServerHas) {
  settings_.position = [] { return std::string("0-1-20,3-2-9"); };
  settings_.has_executed = [](const model::Gtid& gtid) {
    return gtid.domain == 0 ? gtid.number <= 20 : gtid.domain == 3 && gtid.number <= 9;
  };
  settings_.has_executed_range = [](const model::GtidRange& range) {
    return range.tag.empty() && range.last <= 7;
  };
  Connect();
  const std::string at = "H\tat\t3e11fa47-71ca-11e1-9e33-c80aa9429562:";
  EXPECT_EQ("0\t1", Ask(at + "1-7\n"));
  EXPECT_EQ("0\t1", Ask(at + "1-2:5\n"));
  EXPECT_EQ("1\t1\tunavailable", Ask(at + "1-2:8\n"));
  EXPECT_EQ("1\t1\tunavailable", Ask(at + "1:tag:1\n"));
  ExpectReplies({{"H\tposition\n", "0\t1\t0-1-20,3-2-9"},
                 {"H\tat\t0-1-20\n", "0\t1"},
                 {"H\tat\t0-1-20,3-2-9\n", "0\t1"},
                 {"H\tat\t0-7-21\n", "1\t1\tunavailable"},
                 {"H\tat\t0-1-20,4-2-9\n", "1\t1\tunavailable"}});
  Connect(true, "secret");
  ExpectReplies({{"H\tposition\n", "3\t1\tunauth"}, {"H\tat\t0-1-20\n", "3\t1\tunauth"}});
}

TEST_F(HandlerSocketTest, ClientsWithoutAccessLearnNoMoreThanWhetherTheServerTakesRequests) {
  Connect(true, "secret");
  ExpectReplies({{"H\n", "3\t1\tunauth"},
                 {"H\twrite\n", "0\t1"},
                 {"H\tread\t5\n", "0\t1"},
                 {"A\t1\tsecret\n", "0\t1"},
                 {"H\n", "0\t6\tprimary\trunning\t1\t1\t\t0"}});
}

TEST_F(HandlerSocketTest, KeysAreUnescaped) {
  Connect(true, std::string("a\0\x01\tb", 5));
  EXPECT_EQ("0\t1", Ask("A\t1\ta\x01\x40\x01\x41\x01\x49"
                        "b\n"));
}

// A position must include the writes before it, just as an open and a login depend on what comes
// before them.
TEST_F(HandlerSocketTest, OpenAuthAndPositionAreParsedWhenNothingIsBeforeThem) {
  Connect();
  base::Arena arena;
  for (const std::string line : {kOpen, "A\t1\n", "H\tposition\n", "H\tat\t0-1-1\n"}) {
    Item item;
    const exec::Frontend::Step later = frontend_->Parse(line, true, arena, &item);
    EXPECT_EQ(Parsed::kLater, later.parsed) << line;
    EXPECT_EQ(0u, later.consumed);
    frontend_->Rewind();
    const exec::Frontend::Step now = frontend_->Parse(line, false, arena, &item);
    EXPECT_EQ(Parsed::kItem, now.parsed) << line;
    EXPECT_EQ(line.size(), now.consumed);
  }
  // All other lines may come after requests.
  for (const std::string line : {"0\t=\t1\t1\n", "bad\n", "\n"}) {
    Item item;
    EXPECT_EQ(Parsed::kItem, frontend_->Parse(line, true, arena, &item).parsed) << line;
  }
}

TEST_F(HandlerSocketTest, AConnectionHasTheNameThatItWasGivenLast) {
  Connect();
  EXPECT_EQ("", frontend_->name());
  ExpectReplies({{"H\tname\n", "0\t1"}, {"N\tweb-3\n", "0\t1"}});
  EXPECT_EQ("web-3", frontend_->name());
  const std::string longest(model::kNameBytesMax, 'n');
  for (const std::string& line : {std::string("N\tweb 3\n"), std::string("N\tw\x7f\n"),
                                  std::string("N\t\0\n", 4), "N\t" + longest + "n\n"}) {
    EXPECT_EQ("2\t1\tname", Ask(line)) << line;
  }
  EXPECT_EQ("web-3", frontend_->name());
  EXPECT_EQ("0\t1", Ask("N\t" + longest + "\n"));
  EXPECT_EQ(longest, frontend_->name());
  ExpectReplies({{"N\n", "0\t1"}});
  EXPECT_EQ("", frontend_->name());
}

TEST_F(HandlerSocketTest, ANameIsForRequestsAfterIt) {
  Connect();
  base::Arena arena;
  Item item;
  EXPECT_EQ(Parsed::kLater, frontend_->Parse("N\tlate\n", true, arena, &item).parsed);
  EXPECT_EQ("", frontend_->name());
}

TEST_F(HandlerSocketTest, ClientsWithoutAccessHaveNoName) {
  Connect(true, "secret");
  ExpectReplies({{"N\tweb-3\n", "3\t1\tunauth"}, {"H\tname\n", "3\t1\tunauth"}});
  EXPECT_EQ("", frontend_->name());
}

TEST_F(HandlerSocketTest, UnauthenticatedConnectionsMaySendShortLinesOnly) {
  Connect(true, "secret");
  EXPECT_LE(frontend_->input_bytes_max(), model::kUnauthenticatedLineBytesMax + 8);
  const std::string long_line = "0\t=\t1\t" + std::string(5000, '1') + "\n";
  EXPECT_EQ("2\t1\tlinelen", Ask(long_line));
  ASSERT_EQ("0\t1", Ask("A\t1\tsecret\n"));
  EXPECT_GT(frontend_->input_bytes_max(), settings_.limits.line_bytes_max);
  ASSERT_EQ("0\t1", Ask(kOpen));
  EXPECT_EQ("0\t2", Ask(long_line));
  EXPECT_EQ("3\t1\tunauth", Ask("A\t1\t\n"));
  EXPECT_EQ("2\t1\tlinelen", Ask(long_line));
}

// The line is read again with each byte that comes after it.
TEST_F(HandlerSocketTest, TheFirstLineOfAGroupIsShort) {
  ASSERT_EQ("0\t1", Ask(kOpen));
  EXPECT_EQ("2\t2\tlinelen\t0", Ask("G\t2\t" + std::string(5000, 'x') + "\n"));
  ExpectReplies({{"R\t0\t+\t2\t7\t70\n", "2\t1\tgroup"},
                 {"R\t0\t+\t2\t8\t80\n", "2\t1\tgroup"},
                 {"0\t=\t1\t7\n", "0\t2"}});
}

// The limit counts the rows of all lookups of `@`, each of which takes one row at most.
TEST_F(HandlerSocketTest, AGroupTakesALimitThatIsMoreThanItsLookupsCanFind) {
  ASSERT_EQ("0\t1", Ask(kOpen));
  const std::string many = "R\t0\t=\t1\t\t10000\t0\tD\n";
  EXPECT_EQ("2\t2\tgroup\t2\n2\t1\tgroup\n2\t1\tgroup", Ask("G\t2\n" + many + many));
  EXPECT_EQ("0\t2\t1\t0\n0\t1\t2", Ask("G\t1\nR\t0\t=\t1\t\t10000\t0\t@\t0\t3\t1\t2\t3\tD\n"));
}

TEST_F(HandlerSocketTest, AGroupsTokenThatIsTooLongIsNotCopiedWithEachByte) {
  settings_.serves_tokens = true;
  ASSERT_EQ("0\t1", Ask(kOpen));
  const std::string begin = "T\t\x01\x41" + std::string(4000, 'x') + "\tG\t1\nR\t0\t+\t2\t7\t70";
  base::Arena arena;
  constexpr size_t kTimes = 100;
  for (size_t i = 0; i < kTimes; ++i) {
    Item item;
    EXPECT_EQ(Parsed::kNeedMore, frontend_->Parse(begin, false, arena, &item).parsed);
  }
  EXPECT_GT(kTimes * 2000, arena.allocated_bytes());
  EXPECT_EQ("2\t2\ttoken\t0\n2\t1\tgroup", Ask(begin + "\n"));
  EXPECT_EQ("0\t2", Ask("0\t=\t1\t7\n"));
}

TEST_F(HandlerSocketTest, LineThatIsTooLongIsAnsweredWhenItEnds) {
  settings_.limits.line_bytes_max = 1024;
  Connect();
  base::Arena arena;
  Item item;
  const std::string begin(2000, '0');
  exec::Frontend::Step step = frontend_->Parse(begin, false, arena, &item);
  EXPECT_EQ(Parsed::kNeedMore, step.parsed);
  EXPECT_EQ(begin.size(), step.consumed);
  EXPECT_EQ("2\t1\tlinelen", Ask("\t=\t1\t1\n"));
  EXPECT_EQ("0\t1", Ask(kOpen));
}

TEST_F(HandlerSocketTest, ReplyThatIsTooLargeIsAnError) {
  settings_.limits.reply_bytes_max = 20;
  ASSERT_EQ("0\t1", Ask(kOpen));
  EXPECT_EQ("0\t2\t1\t10", Ask("0\t=\t1\t1\n"));
  store_.CreateTable({"test.t", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", std::string(20, 'x')}});
  EXPECT_EQ("1\t1\tresultsize", Ask("0\t=\t1\t1\n"));
}

TEST_F(HandlerSocketTest, NothingIsRepliedWhileARequestWaitsOrIsRunAgain) {
  ASSERT_EQ("0\t1", Ask(kOpen));
  auto held = store_.LockRow("test.t", {"1"});
  EXPECT_EQ("", Ask("0\t=\t1\t1\t1\t0\tU?\t1\t11\n"));
  held.reset();
  store_.SetHook(engine::fake::DeadlockAt({1}));
  EXPECT_EQ("", Ask("0\t=\t1\t1\n"));
  EXPECT_EQ("0\t2\t1\t10", Ask("0\t=\t1\t1\n"));
}

}  // namespace
}  // namespace rowsocket::frontend
