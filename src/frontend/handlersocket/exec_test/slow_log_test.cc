// Which requests are slow, and what the log of slow queries gets about them.
#include "exec/slow_log.h"

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

bool shows_values = true;

class SlowLogTest : public ::testing::Test {
 protected:
  SlowLogTest() {
    shows_values = true;
    test_.settings.latency = &latency_;
    test_.settings.slow_log = &slow_;
    test_.settings.hot_rows = &hot_rows_;
    test_.Start();
  }
  /// The texts of the server's log once there are `count`.
  std::vector<std::string> Texts(size_t count) {
    EXPECT_TRUE(Eventually([&] { return test_.store.SlowTexts().size() >= count; }));
    return test_.store.SlowTexts();
  }

  LatencyRegistry latency_{8, nullptr};
  HotRows hot_rows_;
  SlowLog slow_{"handlersocket", [](uint32_t) { return std::string_view("verb"); },
                [] { return shows_values; }};
  TestPort test_;
};

TEST_F(SlowLogTest, ARequestBelowTheLimitIsNotSlow) {
  LineClient client = test_.ConnectAndOpen();
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t1\t1\t0\tU\t1\t11\n"));
  EXPECT_EQ(0u, slow_.size());
  EXPECT_EQ(0u, test_.Stat(Stat::kSlowRequests));
}

/// A buffer of more than 64 KiB is freed once its requests are answered.
TEST_F(SlowLogTest, WhatALongRequestNamesIsLookedAtBeforeItsInputIsGivenBack) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetSlow(0);
  const std::string key(200'000, 'k');
  EXPECT_EQ("0\t2", client.Ask("0\t=\t1\t" + key + "\n"));
  EXPECT_EQ("0\t1", client.Ask("0\t+\t2\t" + key + "\tv\n"));
  for (const std::string& text : Texts(2)) EXPECT_NE(std::string::npos, text.find("kkkk")) << text;
}

TEST_F(SlowLogTest, ASlowRequestIsInTheServersLogAndKept) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetSlow(0);
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t1\t1\t0\tU\t1\t11\n"));
  EXPECT_EQ("0\t1", client.Ask("0\t+\t2\t7\tit's\n"));
  const std::vector<std::string> texts = Texts(3);
  ASSERT_EQ(3u, texts.size());
  const auto begins = [](const std::string& text, std::string_view with) {
    return text.starts_with(std::string(with) + " /* handlersocket verb, connection ") &&
           text.ends_with(" */");
  };
  EXPECT_TRUE(begins(texts[0], "SELECT `id`, `v` FROM `test`.`t` WHERE KEY `PRIMARY` = ('1')"))
      << texts[0];
  EXPECT_TRUE(
      begins(texts[1], "UPDATE `test`.`t` SET `id` = '1', `v` = '11' WHERE KEY `PRIMARY` = ('1')"))
      << texts[1];
  EXPECT_TRUE(begins(texts[2], "INSERT INTO `test`.`t` (`id`, `v`) VALUES ('7', 'it\\'s')"))
      << texts[2];
  EXPECT_EQ(3u, test_.Stat(Stat::kSlowRequests));
  const std::vector<SlowEntry> last = slow_.Last(2);
  ASSERT_EQ(2u, last.size());
  EXPECT_EQ(2u, last[0].number);
  EXPECT_TRUE(last[0].text.starts_with("INSERT")) << "the last one comes first";
  EXPECT_TRUE(last[0].address.starts_with("127.0.0.1:"));
  slow_.Clear();
  EXPECT_EQ(0u, slow_.size());
}

/// The entry has no keys, which are gone when the replies leave.
TEST_F(SlowLogTest, RepliesThatWereHeldForLongAreOneEntry) {
  StatRegistry registry;
  StatBlock stats(registry);
  LineClient client = test_.ConnectAndOpen();
  const std::unique_ptr<Frontend> frontend = test_.make_frontend();
  TurnClient turn;
  turn.frontend = frontend.get();
  turn.Begin(1'000'000, 0);
  turn.held_from_ns = 2'000'000;
  std::vector<SlowLog::Noted> noted;
  const auto note = [&](uint32_t items, int64_t slow_us) {
    turn.held_items = items;
    slow_.NoteHeld(turn, /*sent_ns=*/500'000'000, slow_us, stats, &noted);
    return noted.size();
  };
  EXPECT_EQ(0u, note(3, 600'000));
  EXPECT_EQ(0u, note(3, 500)) << "it was slow before, and is noted already";
  EXPECT_EQ(0u, note(0, 100'000));
  EXPECT_EQ(1u, note(3, 100'000));
  EXPECT_TRUE(noted[0].text.starts_with(
      "SELECT '3 replies held for commits of other connections' /* handlersocket verb, connection"))
      << noted[0].text;
  EXPECT_EQ(499'000u, noted[0].entry.whole_us);
}

TEST_F(SlowLogTest, ValuesCanBeLeftOutAndAreCut) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetSlow(0);
  const std::string value(1000, 'x');
  EXPECT_EQ("0\t1", client.Ask("0\t+\t2\t8\t" + value + "\n"));
  EXPECT_NE(
      std::string::npos,
      Texts(1)[0].find("VALUES ('8', '" + value.substr(0, model::kSlowValueBytesMax) + "...')"));
  shows_values = false;
  EXPECT_EQ("0\t1\t0", client.Ask("0\t=\t1\t9\t1\t0\tD\n").substr(0, 5));
  EXPECT_TRUE(Texts(2)[1].starts_with("DELETE FROM `test`.`t` WHERE KEY `PRIMARY` = (?)"))
      << Texts(2)[1];
}

TEST_F(SlowLogTest, OneTurnDoesNotFillTheLog) {
  LineClient client = test_.ConnectAndOpen();
  test_.store.SetSlow(0);
  std::string lines;
  constexpr size_t kLines = model::kSlowKeptMax * 2;
  for (size_t i = 0; i < kLines; ++i) lines += kFind1;
  client.Send(lines);
  for (size_t i = 0; i < kLines; ++i) EXPECT_EQ(kRow1, client.ReadLine());
  EXPECT_TRUE(Eventually([&] { return test_.Stat(Stat::kSlowRequests) == kLines; }));
  EXPECT_LT(test_.store.SlowTexts().size(), kLines);
  EXPECT_LE(slow_.size(), model::kSlowKeptMax);
}

}  // namespace
}  // namespace rowsocket::exec
