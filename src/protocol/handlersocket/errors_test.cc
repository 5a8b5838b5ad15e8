#include "protocol/handlersocket/errors.h"

#include <gtest/gtest.h>

namespace rowsocket::handlersocket {
namespace {

using model::ErrorCode;

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
  EXPECT_EQ(static_cast<size_t>(ErrorCode::kInternal) + 1, model::kErrorCodes);
}

}  // namespace
}  // namespace rowsocket::handlersocket
