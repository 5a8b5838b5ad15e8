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

}  // namespace
}  // namespace rowsocket::model
