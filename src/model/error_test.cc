#include "model/error.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/cause_texts.h"

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

TEST(Error, ATableThatCannotBeOpenedMayBeThere) {
  EXPECT_TRUE(IsNoTable({ErrorCode::kOpenTable}));
  EXPECT_FALSE(IsNoTable(Error::CannotOpen(1812)));
  EXPECT_FALSE(IsNoTable({ErrorCode::kDenied}));
  EXPECT_EQ(ErrorCode::kOpenTable, Error::CannotOpen(1812).code);
}

TEST(Error, AServerThatIsReadOnlyIsNoLockedTable) {
  EXPECT_TRUE(IsServerReadOnly(Error::ServerReadOnly(1290)));
  EXPECT_EQ(ErrorCode::kLockTables, Error::ServerReadOnly(1290).code);
  EXPECT_FALSE(IsServerReadOnly({ErrorCode::kLockTables}));
  EXPECT_FALSE(IsServerReadOnly(Error::Engine(1290)));
  EXPECT_FALSE(IsServerReadOnly(Error::ServerReadOnly(kTableIsReadOnly)));
  EXPECT_TRUE(IsTableReadOnly(Error::ServerReadOnly(kTableIsReadOnly)));
  EXPECT_FALSE(IsTableReadOnly({ErrorCode::kLockTables}));
}

TEST(CauseTexts, ACauseThatIsMissingOrStandsTwiceIsSeen) {
  std::vector<ErrorCode> others;
  for (size_t code = 2; code < kErrorCodes; ++code) others.push_back(static_cast<ErrorCode>(code));
  const std::vector<CauseText> worded = {{static_cast<ErrorCode>(1), "words"}};
  EXPECT_TRUE(HaveEachCauseOnce(worded, others));
  EXPECT_FALSE(HaveEachCauseOnce({}, others));
  others.push_back(worded.front().code);
  EXPECT_FALSE(HaveEachCauseOnce(worded, others));
  EXPECT_EQ("words", TextOf(worded, worded.front().code));
  EXPECT_EQ("", TextOf(worded, ErrorCode::kFld));
}

TEST(Error, OkUnlessACodeIsSet) {
  EXPECT_TRUE(Error{}.ok());
  EXPECT_FALSE(Error{ErrorCode::kFld}.ok());
  EXPECT_EQ(Error::Engine(121), (Error{ErrorCode::kEngine, 121}));
}

}  // namespace
}  // namespace rowsocket::model
