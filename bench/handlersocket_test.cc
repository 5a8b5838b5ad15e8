#include "bench/handlersocket.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bench/test_options.h"
#include "bench/test_requests.h"

namespace rowsocket::bench {
namespace {

std::string Number(uint64_t number) { return std::to_string(number); }

TEST(HandlerSocketGet, OpensItsIndexAndAsksForRowsOfTheTable) {
  const Options options = MakeOptions("hs-get");
  Requests requests(options);
  const Hello hello = requests.workload()->MakeHello();
  EXPECT_EQ(hello.bytes, "P\t0\ttest\tuser\tPRIMARY\tname,mail\n");
  EXPECT_EQ(hello.replies, 1u);
  std::set<std::string> different;
  for (int i = 0; i < 2000; ++i) {
    const std::string request = requests.Build();
    EXPECT_EQ(request, "0\t=\t1\t" + Number(requests.keys()[0]) + "\n");
    EXPECT_EQ(requests.sent().key, requests.keys()[0]);
    different.insert(request);
  }
  EXPECT_EQ(different.size(), options.rows);
}

TEST(HandlerSocketGet, TellsARightRowFromAllOtherReplies) {
  const Options options = MakeOptions("hs-get");
  Requests requests(options);
  requests.Build();
  EXPECT_TRUE(requests.IsOneReply("0\t2\tuser 7\tu7@x\n", kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("0\t2\tuser 8\tu8@x\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("0\t2\tuser 7\tu7@x\tuser 7\tu7@x\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("0\t2\tuser 7\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("0\t2\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("2\t1\tstmtnum\n", kError, {7}));
  EXPECT_EQ(requests.Check("2\t1\tstmtnum\n", {7}).text, "2\t1\tstmtnum");
}

TEST(HandlerSocketGet, AnOffsetExpectsAnotherRow) {
  const Options options = MakeOptions("hs-get", [](Options* o) { o->expect_offset = 1; });
  Requests requests(options);
  requests.Build();
  EXPECT_EQ(requests.Check("0\t2\tuser 7\tu7@x\n", {7}).verdict, kMismatch);
  EXPECT_EQ(requests.Check("0\t2\tuser 8\tu8@x\n", {7}).verdict, kRight);
}

TEST(HandlerSocketGet, WithoutColumnsTheReplyHasNone) {
  const Options options =
      MakeOptions("hs-get", [](Options* o) { o->columns_text = o->values_text = ""; });
  Requests requests(options);
  requests.Build();
  EXPECT_EQ(requests.Check("0\t0\n", {7}).verdict, kRight);
}

TEST(HandlerSocketSecondary, UsesTheTextOfTheKey) {
  const Options options = MakeOptions("hs-secondary", [](Options* o) {
    o->index = "by_name";
    o->key_text = "user {n}";
  });
  Requests requests(options);
  EXPECT_EQ(requests.workload()->MakeHello().bytes, "P\t0\ttest\tuser\tby_name\tname,mail\n");
  const std::string request = requests.Build();
  EXPECT_EQ(request, "0\t=\t1\tuser " + Number(requests.keys()[0]) + "\n");
}

TEST(HandlerSocketIn, AsksForItsKeysAndExpectsTheirRowsInThatOrder) {
  const Options options = MakeOptions("hs-in", [](Options* o) { o->batch = 3; });
  Requests requests(options);
  const std::string request = requests.Build();
  const auto& keys = requests.keys();
  EXPECT_EQ(request, "0\t=\t1\t\t3\t0\t@\t0\t3\t" + Number(keys[0]) + "\t" + Number(keys[1]) +
                         "\t" + Number(keys[2]) + "\n");
  const std::string rows = "0\t2\tuser 9\tu9@x\tuser 4\tu4@x\tuser 9\tu9@x\n";
  EXPECT_TRUE(requests.IsOneReply(rows, kRight, {9, 4, 9}));
  EXPECT_EQ(requests.Check(rows, {9, 4, 9}).rows, 3u);
  EXPECT_EQ(requests.Check(rows, {4, 9, 9}).verdict, kMismatch);
  EXPECT_EQ(requests.Check("0\t2\tuser 9\tu9@x\tuser 4\tu4@x\n", {9, 4, 9}).verdict, kMismatch);
}

TEST(HandlerSocketFindGroup, AsksForEachRowByALineOfItsOwn) {
  const Options options = MakeOptions("hs-find-group", [](Options* o) { o->batch = 2; });
  Requests requests(options);
  const std::string request = requests.Build();
  const auto& keys = requests.keys();
  EXPECT_EQ(request,
            "G\t2\nR\t0\t=\t1\t" + Number(keys[0]) + "\nR\t0\t=\t1\t" + Number(keys[1]) + "\n");
  const std::string rows = "0\t2\tuser 9\tu9@x\n0\t2\tuser 4\tu4@x\n";
  EXPECT_TRUE(requests.IsOneReply("0\t2\t1\t0\n" + rows, kRight, {9, 4}));
  EXPECT_EQ(requests.Check("0\t2\t1\t0\n" + rows, {9, 4}).rows, 2u);
  EXPECT_TRUE(requests.IsOneReply("0\t2\t1\t0\n" + rows, kMismatch, {4, 9}));
  EXPECT_TRUE(requests.IsOneReply("0\t2\t0\t1\n" + rows, kMismatch, {9, 4}));
}

TEST(HandlerSocketRange, ExpectsTheRowsFromItsKeyOnAndStaysInTheTable) {
  const Options options = MakeOptions("hs-range", [](Options* o) { o->limit = 2; });
  Requests requests(options);
  for (int i = 0; i < 1000; ++i) {
    const std::string request = requests.Build();
    EXPECT_EQ(request, "0\t>=\t1\t" + Number(requests.keys()[0]) + "\t2\t0\n");
    EXPECT_LE(requests.keys()[0], options.rows - 1);
  }
  EXPECT_TRUE(requests.IsOneReply("0\t2\tuser 4\tu4@x\tuser 5\tu5@x\n", kRight, {4}));
  EXPECT_EQ(requests.Check("0\t2\tuser 4\tu4@x\tuser 6\tu6@x\n", {4}).verdict, kMismatch);
}

TEST(HandlerSocketUpdate, EachRequestHasANewValue) {
  const Options options = MakeOptions("hs-update", [](Options* o) { o->auth = "secret"; });
  Requests requests(options);
  const Hello hello = requests.workload()->MakeHello();
  EXPECT_EQ(hello.bytes, "A\t1\tsecret\nP\t1\ttest\tuser\tPRIMARY\tnote\n");
  EXPECT_EQ(hello.replies, 2u);
  const std::string first = requests.Build();
  EXPECT_EQ(first, "1\t=\t1\t" + Number(requests.keys()[0]) + "\t1\t0\tU\ts1\n");
  const std::string second = requests.Build();
  EXPECT_EQ(second, "1\t=\t1\t" + Number(requests.keys()[0]) + "\t1\t0\tU\ts2\n");
  EXPECT_TRUE(requests.IsOneReply("0\t1\t1\n", kRight, {7}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\t0\n", kMismatch, {7}));
  EXPECT_TRUE(requests.IsOneReply("1\t1\t149\n", kError, {7}));
}

TEST(HandlerSocketInsert, IdsIncreaseAndRowsAreWhole) {
  const Options options = MakeOptions("hs-insert");
  Requests requests(options);
  requests.shared()->next_insert_id = 51;
  EXPECT_EQ(requests.workload()->MakeHello().bytes,
            "P\t1\ttest\tuser\tPRIMARY\tuser_id,name,mail\n");
  EXPECT_EQ(requests.Build(), "1\t+\t3\t51\tuser 51\tu51@x\n");
  EXPECT_EQ(requests.Build(), "1\t+\t3\t52\tuser 52\tu52@x\n");
  EXPECT_TRUE(requests.IsOneReply("0\t1\n", kRight, {52}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\t52\n", kRight, {52}));
  EXPECT_TRUE(requests.IsOneReply("1\t1\t121\n", kError, {52}));
  EXPECT_EQ(requests.Check("1\t1\t121\n", {52}).text, "1\t1\t121");
  EXPECT_TRUE(requests.IsOneReply("0\t2\n", kMismatch, {52}));
  EXPECT_TRUE(requests.IsOneReply("\n", kMismatch, {52}));
}

TEST(HandlerSocketDecrement, CountsAppliedAndUnappliedChanges) {
  const Options options = MakeOptions("hs-decrement");
  Requests requests(options);
  EXPECT_EQ(requests.workload()->MakeHello().bytes, "P\t1\ttest\tuser\tPRIMARY\tstock\tstock\n");
  EXPECT_EQ(requests.Build(), "1\t=\t1\t1\t1\t0\tF\t>\t0\t3\t-\t1\n");
  EXPECT_TRUE(requests.IsOneReply("0\t1\t1\n", Verdict::kApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\t0\n", Verdict::kNotApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\t2\n", kMismatch, {1}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\n", kMismatch, {1}));
}

TEST(HandlerSocketDecrement, ABeforeImageMustBeAboveTheGuard) {
  const Options options =
      MakeOptions("hs-decrement", [](Options* o) { o->verify_conservation = true; });
  Requests requests(options);
  EXPECT_EQ(requests.Build(), "1\t=\t1\t1\t1\t0\tF\t>\t0\t3\t-?\t1\n");
  EXPECT_TRUE(requests.IsOneReply("0\t1\t500\n", Verdict::kApplied, {1}));
  const Checked checked = requests.Check("0\t1\t500\n", {1});
  EXPECT_TRUE(checked.has_before);
  EXPECT_EQ(checked.before, 500u);
  EXPECT_TRUE(requests.IsOneReply("0\t1\n", Verdict::kNotApplied, {1}));
  for (const char* wrong : {"0\t1\t3\n", "0\t1\t-5\n", "0\t1\t5x\n", "0\t1\t\n", "0\t1\t5\t4\n"}) {
    EXPECT_TRUE(requests.IsOneReply(wrong, kMismatch, {1})) << wrong;
  }
  EXPECT_TRUE(requests.IsOneReply("2\t1\treadonly\n", kError, {1}));
}

TEST(HandlerSocketDecrement, HotAndColdRowsAreChosenAsAsked) {
  const Options options = MakeOptions("hs-decrement", [](Options* o) {
    o->hot_rows = 5;
    o->cold_percent = 20;
  });
  Requests requests(options);
  int cold = 0;
  std::set<uint64_t> rows;
  for (int i = 0; i < 10'000; ++i) {
    requests.Build();
    cold += requests.sent().key > 5;
    rows.insert(requests.sent().key);
  }
  EXPECT_NEAR(cold, 2000, 200);
  EXPECT_EQ(rows.size(), 50u);
}

TEST(HandlerSocketPurchase, AGroupOfTwoRequestsHasThreeLinesOfReply) {
  const Options options = MakeOptions("hs-purchase");
  Requests requests(options);
  EXPECT_EQ(requests.Build(),
            "G\t2\nR\t1\t=\t1\t1\t1\t0\tF\t>\t0\t3\t-\t1\nR\t2\t+\t3\t1\t1\tt1\n");
  EXPECT_TRUE(requests.IsOneReply("0\t2\t1\t0\n0\t1\t1\n0\t1\t17\n", Verdict::kApplied, {1}));
  const std::string not_done = "2\t1\tgroup\n2\t1\tgroup\n";
  EXPECT_TRUE(requests.IsOneReply("0\t2\t0\t1\n" + not_done, Verdict::kNotApplied, {1}));
  EXPECT_TRUE(requests.IsOneReply("1\t2\t149\t1\n" + not_done, kError, {1}));
}

TEST(HandlerSocketPurchase, ATokenStandsInFrontOfItsGroup) {
  const Options options = MakeOptions("hs-purchase", [](Options* o) { o->with_tokens = true; });
  Requests requests(options);
  EXPECT_TRUE(requests.Build().starts_with("T\tp1\tG\t2\n"));
  EXPECT_TRUE(requests.Build().starts_with("T\tp2\tG\t2\n"));
}

TEST(HandlerSocketPurchase, OfANullServerEachLineIsAnswered) {
  const Options options = MakeOptions("hs-purchase", [](Options* o) { o->expect_reply = "0\\t1"; });
  Requests requests(options);
  EXPECT_EQ(requests.workload()->CheckHello("0\t1\n", 0).bytes, 4u);
  EXPECT_TRUE(requests.IsOneReply("0\t1\n0\t1\n0\t1\n", Verdict::kRight, {1}));
  EXPECT_TRUE(requests.IsOneReply("0\t1\n0\t2\n0\t1\n", kMismatch, {1}));
}

TEST(HandlerSocketMixed, ReadsAndWritesComeInTheirRatioAndAreJudgedByTheirKind) {
  const Options options = MakeOptions("hs-mixed", [](Options* o) { o->read_percent = 75; });
  Requests requests(options);
  const Hello hello = requests.workload()->MakeHello();
  EXPECT_EQ(hello.replies, 2u);
  int reads = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool is_read = requests.Build()[0] == '0';
    reads += is_read;
    const std::string n = Number(requests.keys()[0]);
    const std::string row = "0\t2\tuser " + n + "\tu" + n + "@x\n";
    EXPECT_EQ(requests.Check(row).verdict, is_read ? kRight : kMismatch);
    EXPECT_EQ(requests.Check("0\t1\t1\n").verdict, is_read ? kMismatch : kRight);
  }
  EXPECT_NEAR(reads, 7500, 250);
}

TEST(FixedReply, AcceptsNothingButItsText) {
  const Options options = MakeOptions("hs-get", [](Options* o) { o->expect_reply = "0\\t1"; });
  Requests requests(options);
  requests.Build();
  EXPECT_TRUE(requests.IsOneReply("0\t1\n", kRight, {7}));
  EXPECT_EQ(requests.Check("0\t2\n", {7}).verdict, kMismatch);
}

}  // namespace
}  // namespace rowsocket::bench
