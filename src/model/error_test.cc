#include "model/error.h"

#include <gtest/gtest.h>

namespace rowsocket::model {
namespace {

TEST(Error, TextsAndDigitsAreThoseOfTheProtocol) {
  EXPECT_EQ(Text(ErrorCode::kCmd), "cmd");
  EXPECT_EQ(CodeDigit(ErrorCode::kCmd), 2u);
  EXPECT_EQ(Text(ErrorCode::kUnauth), "unauth");
  EXPECT_EQ(CodeDigit(ErrorCode::kUnauth), 3u);
  EXPECT_EQ(Text(ErrorCode::kOpenTable), "open_table");
  EXPECT_EQ(CodeDigit(ErrorCode::kOpenTable), 1u);
  EXPECT_EQ(Text(ErrorCode::kValuesCount), "valueslen");
  EXPECT_EQ(Name(ErrorCode::kValuesCount), "values_count");
  EXPECT_EQ(CodeDigit(ErrorCode::kNone), 0u);
  EXPECT_EQ(Text(ErrorCode::kEngine), "");
  EXPECT_EQ(CodeDigit(ErrorCode::kEngine), 1u);
}

TEST(Error, OkUnlessACodeIsSet) {
  EXPECT_TRUE(Error{}.ok());
  EXPECT_FALSE(Error{ErrorCode::kFld}.ok());
  EXPECT_EQ(Error::Engine(121), (Error{ErrorCode::kEngine, 121}));
}

TEST(ErrorSet, FirstIsTheEarliestInCheckOrder) {
  ErrorSet wrongs;
  EXPECT_TRUE(wrongs.empty());
  wrongs.Add(ErrorCode::kNone);
  EXPECT_TRUE(wrongs.empty());
  wrongs.Add(ErrorCode::kEngine);
  EXPECT_EQ(wrongs.First(), ErrorCode::kEngine);
  wrongs.Add(ErrorCode::kKlen);
  wrongs.Add(ErrorCode::kModop);
  EXPECT_EQ(wrongs.First(), ErrorCode::kKlen);
  wrongs.Add(ErrorCode::kCmd);
  EXPECT_EQ(wrongs.First(), ErrorCode::kCmd);
  EXPECT_TRUE(wrongs.Has(ErrorCode::kModop));
  EXPECT_FALSE(wrongs.Has(ErrorCode::kFld));
}

// The order of the protocol document's table, which other tests lean on.
TEST(ErrorSet, OrderOfTheTable) {
  const ErrorCode order[] = {ErrorCode::kCmd,       ErrorCode::kUnauth,      ErrorCode::kAuthtype,
                             ErrorCode::kOpenTable, ErrorCode::kIdxnum,      ErrorCode::kFld,
                             ErrorCode::kStmtnum,   ErrorCode::kInvalueslen, ErrorCode::kFiltertype,
                             ErrorCode::kFilterfld, ErrorCode::kOp,          ErrorCode::kKlen,
                             ErrorCode::kReadonly,  ErrorCode::kModop,       ErrorCode::kLockTables,
                             ErrorCode::kKpnum,     ErrorCode::kFilterblob,  ErrorCode::kNotimpl,
                             ErrorCode::kEngine};
  for (size_t i = 1; i < std::size(order); ++i) {
    EXPECT_LT(order[i - 1], order[i]) << Name(order[i]);
  }
  EXPECT_EQ(static_cast<size_t>(ErrorCode::kEngine) + 1, kErrorCodes);
}

}  // namespace
}  // namespace rowsocket::model
