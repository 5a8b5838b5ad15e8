#include "model/error.h"

#include <gtest/gtest.h>

namespace rowsocket::model {
namespace {

TEST(Error, NamesAreThoseOfTheTable) {
  EXPECT_EQ(Name(ErrorCode::kNone), "none");
  EXPECT_EQ(Name(ErrorCode::kValuesCount), "values_count");
}

TEST(Error, EndOfAWaitIsTheSameForAllWhoWait) {
  for (const ErrorCode code : {ErrorCode::kLockWait, ErrorCode::kLockTables, ErrorCode::kKilled}) {
    EXPECT_TRUE(EndsWait({code})) << Name(code);
  }
  EXPECT_FALSE(EndsWait({ErrorCode::kDeadlock}));
  EXPECT_FALSE(EndsWait(Error::Engine(121)));
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

// The order of the protocol document's table, on which other tests rely.
TEST(ErrorSet, OrderOfTheTable) {
  const ErrorCode order[] = {ErrorCode::kCmd,       ErrorCode::kUnauth,      ErrorCode::kAuthtype,
                             ErrorCode::kOpenTable, ErrorCode::kIdxnum,      ErrorCode::kFld,
                             ErrorCode::kStmtnum,   ErrorCode::kInvalueslen, ErrorCode::kFiltertype,
                             ErrorCode::kFilterfld, ErrorCode::kOp,          ErrorCode::kKlen,
                             ErrorCode::kReadonly,  ErrorCode::kModop,       ErrorCode::kLockTables,
                             ErrorCode::kKpnum,     ErrorCode::kFilterblob,  ErrorCode::kNotimpl,
                             ErrorCode::kEngine,    ErrorCode::kLockWait,    ErrorCode::kDeadlock,
                             ErrorCode::kInternal};
  for (size_t i = 1; i < std::size(order); ++i) {
    EXPECT_LT(order[i - 1], order[i]) << Name(order[i]);
  }
  EXPECT_EQ(static_cast<size_t>(ErrorCode::kInternal) + 1, kErrorCodes);
}

}  // namespace
}  // namespace rowsocket::model
