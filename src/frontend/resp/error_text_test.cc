// What a client is told of errors that a command has in its own way.
#include "frontend/resp/error_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/limits.h"

namespace rowsocket::frontend {
namespace {

using model::Error;

TEST(RespGrantTest, TheGrantHasTheNamesAsSqlQuotesThem) {
  const model::Account account("o'x", "127.%");
  EXPECT_EQ("GRANT SELECT, UPDATE ON `a``b`.`t.u` TO 'o''x'@'127.%'",
            RespGrant("SELECT, UPDATE", "a`b", "t.u", account));
}

TEST(RespErrorTextTest, AKeyThatTheStoreCannotHoldIsNoValue) {
  std::string key(model::kRespStoreKeyBytesMax, 'k');
  std::vector<model::Value> parts = {model::Value("0"), model::Value(key)};
  RespCall call;
  call.verb = RespVerb::kSet;
  call.is_string = true;
  call.key.parts = parts;
  EXPECT_EQ("CONSTRAINT a value does not fit its column (1406)",
            RespFailureText(Error::Engine(1406), RespWork(), &call, nullptr));
  key += 'k';
  parts[1] = model::Value(key);
  EXPECT_EQ("CONSTRAINT the key of a string is longer than 1,024 bytes (1406)",
            RespFailureText(Error::Engine(1406), RespWork(), &call, nullptr));
  EXPECT_EQ("CONSTRAINT a value does not fit its column (1265)",
            RespFailureText(Error::Engine(1265), RespWork(), &call, nullptr));
}

TEST(RespErrorTextTest, ASumThatAFloatWouldNotShowIsNoValueThatIsTooLong) {
  RespCall call;
  call.verb = RespVerb::kHIncrByFloat;
  EXPECT_EQ(
      "CONSTRAINT the column cannot hold the sum as it is: it is too short, or a FLOAT, which "
      "shows "
      "fewer digits than it holds (1406)",
      RespFailureText(Error::Engine(1406), RespWork(), &call, nullptr));
}

TEST(RespErrorTextTest, ALockedTableIsNoServerThatIsReadOnly) {
  EXPECT_EQ("READONLY the server takes no writes now: read_only, or the schema is READ ONLY",
            RespErrorText(Error::ServerReadOnly(1290), RespWork()));
  EXPECT_EQ("READONLY not done: the table was locked for longer than resp_wrlock_timeout",
            RespErrorText({model::ErrorCode::kLockTables}, RespWork()));
}

// Clients that look for a new primary after READONLY would find none to which the table is not so.
TEST(RespErrorTextTest, ATableThatIsReadOnlyIsNoServerThatIs) {
  EXPECT_EQ("CONSTRAINT the table is read only (1036)",
            RespErrorText(Error::ServerReadOnly(model::kTableIsReadOnly), RespWork()));
}

TEST(RespErrorTextTest, ATableWithoutAPrimaryKeyDoesNotLackAnIndex) {
  RespCall call;
  call.verb = RespVerb::kHGetAll;
  const Error none{model::ErrorCode::kIdxnum};
  EXPECT_EQ(
      "NOTABLE the table has no primary key: add one, or name a unique index: "
      "schema.table@index:key",
      RespFailureText(none, RespWork(), &call, nullptr));
  call.key.index = "words";
  EXPECT_TRUE(RespFailureText(none, RespWork(), &call, nullptr)
                  .starts_with("NOTABLE the table has no index of this name"));
}

TEST(RespErrorTextTest, GeneratedColumnsAndGeometriesHaveWords) {
  const std::pair<int, std::string> texts[] = {
      {1416, "CONSTRAINT a value is no geometry as the column keeps it: write it by SQL (1416)"},
      {1906, "CONSTRAINT a generated column takes no value (1906)"},
      {3105, "CONSTRAINT a generated column takes no value (3105)"}};
  for (const auto& [number, text] : texts)
    EXPECT_EQ(text, RespErrorText(Error::Engine(number), RespWork()));
}

TEST(RespErrorTextTest, AChangeThatNoTransactionHoldsIsTooLarge) {
  EXPECT_EQ(
      "TOOLARGE a transaction cannot hold the change: max_binlog_cache_size, in a Galera cluster "
      "wsrep_max_ws_size or wsrep_max_ws_rows (1197)",
      RespErrorText(Error::Engine(1197), RespWork()));
}

}  // namespace
}  // namespace rowsocket::frontend
