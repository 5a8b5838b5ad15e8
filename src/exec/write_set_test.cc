#include "exec/write_set.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace rowsocket::exec {
namespace {

using model::Modification;
using model::Request;
using model::Value;

class WriteSetTest : public ::testing::Test {
 protected:
  struct Key {
    explicit Key(std::vector<const char*> texts) {
      for (const char* text : texts) {
        values.push_back(text != nullptr ? Value(std::string_view(text)) : Value());
      }
      request.find.key = values;
      request.find.key_parts_given = static_cast<uint32_t>(values.size());
    }
    std::vector<Value> values;
    Request request;
  };

  static engine::IndexFacts FactsOfKey(std::vector<std::string> names) {
    engine::IndexFacts facts;
    facts.key.resize(names.size());
    facts.key_names = std::move(names);
    return facts;
  }
  /// Whether an update of the row with key (1; 2) to these values may have moved it.
  static bool Moves(const KeyColumns& key, std::vector<const char*> values,
                    Modification modification = Modification::kUpdate) {
    Key change({"1", "2"});
    const Key set(std::move(values));
    change.request.find.modification = modification;
    change.request.find.modifications = set.values;
    return key.MayMove(change.request.find);
  }

  void Change(const engine::Index& index, std::vector<const char*> key) {
    Key change(std::move(key));
    change.request.find.modification = Modification::kIncrement;
    writes_.Add(index, change.request, key_);
  }
  bool Concerns(const engine::Index& index, std::vector<const char*> key) {
    return writes_.MayConcern(RowName(index, Key(std::move(key)).request));
  }

  const engine::Index table_{{"db", "t", "", {"v"}, {}}, 0, 1};
  const engine::Index other_columns_{{"db", "t", "", {"w", "v"}, {}}, 1, 2};
  const engine::Index other_index_{{"db", "t", "k", {"v"}, {}}, 2, 3};
  const engine::Index other_table_{{"db", "u", "", {"v"}, {}}, 3, 4};
  const KeyColumns key_{table_, FactsOfKey({"id"})};
  WriteSet writes_;
};

TEST_F(WriteSetTest, OtherRowsAndTablesAreNotConcerned) {
  EXPECT_FALSE(Concerns(table_, {"1"}));
  Change(table_, {"12"});
  Change(table_, {"user_12"});
  EXPECT_TRUE(Concerns(table_, {"12"}));
  EXPECT_TRUE(Concerns(other_columns_, {"12"}));
  for (const char* key : {"13", "1", "0", "120", "user_13", "userx12", "u12"}) {
    EXPECT_FALSE(Concerns(table_, {key})) << key;
  }
  EXPECT_FALSE(Concerns(other_table_, {"12"}));
}

TEST_F(WriteSetTest, ANumberIsAnotherIndexThanTheNameWithItsDigits) {
  engine::IndexNames names{"db", "t", "0", {"v"}, {}};
  const engine::Index by_number(names, 4, 5);
  names.index_is_name = true;
  const engine::Index by_name(names, 5, 6);
  Change(by_number, {"12"});
  EXPECT_FALSE(Concerns(by_number, {"13"}));
  EXPECT_TRUE(Concerns(by_name, {"13"}));
}

TEST_F(WriteSetTest, TextsThatMayNameTheSameRowAreConcerned) {
  Change(table_, {"12"});
  Change(table_, {"yvonne:12"});
  for (const char* key : {"012", "+12", "12.0", "1e1", " 12", "12 ", "", "-1", "\xc3\xa4",
                          "1234567890123456", "YVONNE:12", "iuonne12", "Yvonne-12 "}) {
    EXPECT_TRUE(Concerns(table_, {key})) << key;
  }
  EXPECT_TRUE(Concerns(table_, {nullptr}));
}

// utf8mb4_lithuanian_ci, utf8mb4_hu_0900_ai_ci and macce_general_ci compare them so.
TEST_F(WriteSetTest, LettersThatCollationsJoinAreConcerned) {
  const std::pair<const char*, const char*> same[] = {
      {"czech", "czec"},     {"achb", "acb"},       {"cchc", "chcch"},
      {"Roccs", "roc\1scs"}, {"addza", "adzdza"},   {"ddzs", "dzsdzs"},
      {"meggy", "megygy"},   {"mennyi", "menynyi"}, {"am", "an"}};
  for (const auto& [one, other] : same) {
    for (const bool forward : {true, false}) {
      writes_.Clear();
      Change(table_, {forward ? one : other});
      EXPECT_TRUE(Concerns(table_, {forward ? other : one})) << one;
    }
  }
  writes_.Clear();
  Change(table_, {"hat"});
  for (const char* key : {"hats", "hut", "that", "ht", "ha"}) {
    EXPECT_FALSE(Concerns(table_, {key})) << key;
  }
}

TEST_F(WriteSetTest, AddressHasSeveralTexts) {
  Change(table_, {"fe80::1"});
  EXPECT_TRUE(Concerns(table_, {"fe80:0::1"}));
  writes_.Clear();
  Change(table_, {"user:12"});
  EXPECT_TRUE(Concerns(table_, {"FE80::1.2.3.4"}));
  EXPECT_FALSE(Concerns(table_, {"user:13"}));
  EXPECT_FALSE(Concerns(table_, {"fe80.1"}));
}

TEST_F(WriteSetTest, OtherIndexesKeyPartsAndRangesAreConcerned) {
  Change(table_, {"12", "5"});
  EXPECT_TRUE(Concerns(table_, {"12"}));
  EXPECT_TRUE(Concerns(other_index_, {"13", "5"}));
  EXPECT_FALSE(Concerns(table_, {"5", "12"}));
  Key range({"13", "5"});
  range.request.find.op = model::CompareOp::kGe;
  EXPECT_TRUE(writes_.MayConcern(RowName(table_, range.request)));
}

TEST_F(WriteSetTest, InsertsAndChangesOfSeveralRowsConcernTheTable) {
  Request insert;
  insert.verb = Request::Verb::kInsert;
  writes_.Add(table_, insert, key_);
  EXPECT_TRUE(Concerns(table_, {"1"}));
  EXPECT_FALSE(Concerns(other_table_, {"1"}));
  writes_.Clear();
  EXPECT_FALSE(Concerns(table_, {"1"}));
  Key range({"13"});
  range.request.find.op = model::CompareOp::kGe;
  range.request.find.modification = Modification::kDelete;
  writes_.Add(table_, range.request, key_);
  EXPECT_TRUE(Concerns(table_, {"1"}));
}

// The set has 8,192 bits: with a batch of usual size, few finds of other rows wait.
TEST_F(WriteSetTest, FewFindsWaitWithoutNeed) {
  for (unsigned i = 0; i < 200; ++i) Change(table_, {std::to_string(1000 + 7 * i).c_str()});
  unsigned concerned = 0;
  for (unsigned i = 0; i < 10'000; ++i) {
    concerned += Concerns(table_, {std::to_string(100'000 + i).c_str()});
  }
  EXPECT_LT(concerned, 500u);
}

TEST_F(WriteSetTest, ChangeOfAKeyColumnMayMoveTheRow) {
  const engine::Index index({"db", "t", "", {"V", "B", "a"}, {}}, 4, 5);
  const KeyColumns key(index, FactsOfKey({"A", "b"}));
  EXPECT_FALSE(Moves(key, {"9"}));
  EXPECT_FALSE(Moves(key, {"9", "2"}));
  EXPECT_FALSE(Moves(key, {"9", "2", "1"}));
  EXPECT_FALSE(Moves(key, {}, Modification::kDelete));
  EXPECT_TRUE(Moves(key, {"9", "3"}));
  EXPECT_TRUE(Moves(key, {"9", "2", "2"}));
  EXPECT_TRUE(Moves(key, {"9", "2"}, Modification::kIncrement));
  EXPECT_FALSE(Moves(key, {"9", "0"}, Modification::kIncrement));
  EXPECT_TRUE(Moves(KeyColumns(), {"9"}));
  EXPECT_FALSE(Moves(KeyColumns(), {}, Modification::kDelete));
  engine::IndexFacts generated = FactsOfKey({"c"});
  generated.key[0].is_generated = true;
  EXPECT_TRUE(Moves(KeyColumns(index, generated), {"9"}));
  EXPECT_TRUE(Moves(KeyColumns(index, FactsOfKey({"\xc3\xa4"})), {"9"}));
}

TEST_F(WriteSetTest, RowThatMovesMayBeAnyRow) {
  const engine::Index index({"db", "t", "", {"id", "v"}, {}}, 4, 5);
  const KeyColumns key(index, FactsOfKey({"id"}));
  Key change({"1"});
  change.request.find.modification = Modification::kUpdate;
  const Key stays({"1", "x"}), moves({"7", "x"});
  change.request.find.modifications = stays.values;
  writes_.Add(index, change.request, key);
  EXPECT_FALSE(Concerns(index, {"7"}));
  change.request.find.modifications = moves.values;
  writes_.Add(index, change.request, key);
  EXPECT_TRUE(Concerns(index, {"7"}));
}

TEST_F(WriteSetTest, KeysWithSeveralTextsForAValueMayBeAnyRow) {
  using Kind = engine::ColumnFacts::Kind;
  for (const Kind kind : {Kind::kFloat, Kind::kDateTime, Kind::kTimestamp, Kind::kOther}) {
    engine::IndexFacts facts = FactsOfKey({"id"});
    facts.key[0].kind = kind;
    Key change({"2005"});
    change.request.find.modification = Modification::kDelete;
    writes_.Clear();
    writes_.Add(table_, change.request, KeyColumns(table_, facts));
    EXPECT_TRUE(Concerns(table_, {"5"}));
    EXPECT_FALSE(Concerns(other_table_, {"5"}));
  }
}

// Deletes, and changes of columns that a foreign key may refer to, change rows of any table.
TEST_F(WriteSetTest, CascadesConcernAllTables) {
  const engine::Index index({"db", "t", "", {"id", "code", "v"}, {}}, 4, 5);
  engine::IndexFacts facts = FactsOfKey({"id"});
  facts.columns.resize(3);
  facts.columns[0].is_in_key = true;
  facts.is_referenced = true;
  const Key stays({"1", "x"}), moves({"7", "x"});
  Key change({"1"});
  const auto concerns_others = [&](Modification modification, const Key& values) {
    change.request.find.modification = modification;
    change.request.find.modifications = values.values;
    writes_.Clear();
    writes_.Add(index, change.request, KeyColumns(index, facts));
    return Concerns(other_table_, {"5"});
  };
  EXPECT_FALSE(concerns_others(Modification::kUpdate, stays));
  EXPECT_TRUE(concerns_others(Modification::kUpdate, moves));
  EXPECT_TRUE(concerns_others(Modification::kDelete, stays));
  facts.columns[1].is_in_key = true;
  EXPECT_TRUE(concerns_others(Modification::kUpdate, stays));
  facts.columns[1].is_in_key = false;
  facts.has_key_that_follows = true;
  EXPECT_TRUE(concerns_others(Modification::kUpdate, stays));
  facts.is_referenced = false;
  EXPECT_FALSE(concerns_others(Modification::kUpdate, stays));
  EXPECT_FALSE(concerns_others(Modification::kDelete, stays));
}

}  // namespace
}  // namespace rowsocket::exec
