#include "bench/sql_statement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/test_options.h"

namespace rowsocket::bench {
namespace {

class Statement {
 public:
  explicit Statement(const Options& options)
      : statement_(options, &shared_, 1), keys_(statement_.KeysPerRequest()) {}

  std::string Build() { return std::string(statement_.Build(&sent_, keys_.data())); }
  std::string Key() const { return std::to_string(keys_[0]); }
  const Sent& sent() const { return sent_; }
  SqlStatement* operator->() { return &statement_; }
  Shared* shared() { return &shared_; }
  const uint64_t* keys() const { return keys_.data(); }

 private:
  Shared shared_;
  SqlStatement statement_;
  Sent sent_;
  std::vector<uint64_t> keys_;
};

TEST(SqlStatement, ReadsNameTheColumnsAndTheKey) {
  const Options options = MakeOptions("sql-get");
  Statement get(options);
  const std::string text = get.Build();
  EXPECT_EQ(text, "SELECT `name`, `mail` FROM `user` WHERE `user_id` = " + get.Key());
  EXPECT_TRUE(get->returns_rows());
  EXPECT_EQ(get->Prepared(), "");
}

TEST(SqlStatement, TextKeysAreQuoted) {
  const Options options = MakeOptions("sql-get", [](Options* o) { o->key_text = "user {n}"; });
  Statement get(options);
  const std::string text = get.Build();
  EXPECT_TRUE(text.ends_with(" = 'user " + get.Key() + "'")) << text;
}

TEST(SqlStatement, APreparedStatementBuildsOnlyItsKey) {
  const Options options = MakeOptions("sql-get-prepared");
  Statement get(options);
  EXPECT_EQ(get->Prepared(), "SELECT `name`, `mail` FROM `user` WHERE `user_id` = ?");
  const std::string text = get.Build();
  EXPECT_EQ(text, get.Key());
}

TEST(SqlStatement, InExpectsEachRowOnceInTheOrderOfTheKey) {
  const Options options = MakeOptions("sql-in", [](Options* o) { o->batch = 4; });
  Statement in(options);
  const std::string text = in.Build();
  EXPECT_TRUE(text.starts_with("SELECT `name`, `mail` FROM `user` WHERE `user_id` IN (")) << text;
  EXPECT_EQ(std::count(text.begin() + 50, text.end(), ','), 3);
  const uint64_t keys[] = {3, 5, 9, 0};
  EXPECT_EQ(in->ExpectedRows(keys), 3u);
  EXPECT_EQ(in->RowsPerReply(), 4u);
  EXPECT_TRUE(in->CheckCell(keys, 1, 0, "user 5"));
  EXPECT_TRUE(in->CheckCell(keys, 2, 1, "u9@x"));
  EXPECT_FALSE(in->CheckCell(keys, 2, 0, "user 5"));
}

TEST(SqlStatement, KeysOfAnInListAreSortedAndUnique) {
  const Options options = MakeOptions("sql-in", [](Options* o) {
    o->batch = 16;
    o->rows = 8;
  });
  Statement in(options);
  for (int i = 0; i < 200; ++i) {
    in.Build();
    const size_t rows = in->ExpectedRows(in.keys());
    EXPECT_LE(rows, 8u);
    for (size_t k = 1; k < rows; ++k) EXPECT_LT(in.keys()[k - 1], in.keys()[k]);
  }
}

TEST(SqlStatement, RangesStayInTheTable) {
  const Options options = MakeOptions("sql-range", [](Options* o) { o->limit = 10; });
  Statement range(options);
  for (int i = 0; i < 500; ++i) {
    const std::string text = range.Build();
    EXPECT_EQ(text, "SELECT `name`, `mail` FROM `user` WHERE `user_id` >= " + range.Key() +
                        " ORDER BY `user_id` LIMIT 10");
    EXPECT_LE(range.keys()[0], 41u);
  }
  EXPECT_EQ(range->ExpectedRows(range.keys()), 10u);
  const uint64_t key = 20;
  EXPECT_TRUE(range->CheckCell(&key, 3, 0, "user 23"));
}

TEST(SqlStatement, ChangesNameTheirColumns) {
  const Options update = MakeOptions("sql-update");
  Statement set(update);
  const std::string text = set.Build();
  EXPECT_EQ(text, "UPDATE `user` SET `note` = 's1' WHERE `user_id` = " + set.Key());
  EXPECT_EQ(set->CheckAffected(1), Verdict::kRight);
  EXPECT_EQ(set->CheckAffected(0), Verdict::kMismatch);

  const Options decrement = MakeOptions("sql-decrement");
  Statement take(decrement);
  EXPECT_EQ(take.Build(),
            "UPDATE `user` SET `stock` = `stock` - 1 WHERE `user_id` = 1 AND `stock` > 3");
  EXPECT_EQ(take->CheckAffected(1), Verdict::kApplied);
  EXPECT_EQ(take->CheckAffected(0), Verdict::kNotApplied);
  EXPECT_EQ(take->CheckAffected(2), Verdict::kMismatch);
}

TEST(SqlStatement, InsertsHoldABatchOfNewRows) {
  const Options options = MakeOptions("sql-insert", [](Options* o) { o->batch = 2; });
  Statement insert(options);
  insert.shared()->next_insert_id = 51;
  EXPECT_EQ(insert.Build(),
            "INSERT INTO `user` (`user_id`, `name`, `mail`) VALUES (51, 'user 51', 'u51@x'), "
            "(52, 'user 52', 'u52@x')");
  EXPECT_TRUE(insert.Build().ends_with("(54, 'user 54', 'u54@x')"));
  EXPECT_EQ(insert->CheckAffected(2), Verdict::kRight);
  EXPECT_EQ(insert->CheckAffected(1), Verdict::kMismatch);
}

TEST(SqlStatement, APurchaseInFourStatementsEndsWhereNothingIsLeft) {
  const Options options = MakeOptions("sql-purchase-4", [](Options* o) { o->hot_rows = 1; });
  Statement buy(options);
  EXPECT_TRUE(buy->has_steps());
  EXPECT_EQ(buy.Build(), "BEGIN");
  EXPECT_EQ(buy->Next(1, 0, buy.sent()),
            "UPDATE `user` SET `stock` = `stock` - 1 WHERE `user_id` = 1 AND `stock` > 3");
  EXPECT_EQ(buy->Next(2, 1, buy.sent()),
            "INSERT INTO `orders` (user, item, token) VALUES (1, 1, 't1')");
  EXPECT_EQ(buy->Next(3, 1, buy.sent()), "COMMIT");
  EXPECT_EQ(buy->Next(4, 0, buy.sent()), "");
  EXPECT_EQ(SqlStatement::CheckSteps(4), Verdict::kApplied);

  EXPECT_EQ(buy->Next(2, 0, buy.sent()), "ROLLBACK");
  EXPECT_EQ(buy->Next(3, 0, buy.sent()), "");
  EXPECT_EQ(SqlStatement::CheckSteps(3), Verdict::kNotApplied);
}

TEST(SqlStatement, ReplaceAndHandler) {
  const Options replace = MakeOptions("sql-replace");
  Statement put(replace);
  const std::string text = put.Build();
  const std::string n = put.Key();
  EXPECT_EQ(text, "REPLACE INTO `user` (`user_id`, `name`, `mail`) VALUES (" + n + ", 'user " + n +
                      "', 'u" + n + "@x')");
  EXPECT_EQ(put->CheckAffected(2), Verdict::kRight);
  EXPECT_EQ(put->CheckAffected(0), Verdict::kMismatch);

  const Options handler = MakeOptions("handler-read");
  Statement read(handler);
  EXPECT_EQ(read->Prologue(), "HANDLER `user` OPEN");
  EXPECT_TRUE(read->returns_all_columns());
  const std::string request = read.Build();
  EXPECT_EQ(request, "HANDLER `user` READ `PRIMARY` = (" + read.Key() + ")");
}

}  // namespace
}  // namespace rowsocket::bench
