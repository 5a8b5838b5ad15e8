// Which rights of its client's account an edit needs, and what it leaves if it was not checked
// whether the account may delete the row.
#include <memory>
#include <string>
#include <utility>

#include "frontend/memcached/memcached_fixture.h"

namespace rowsocket::frontend {
namespace {

class MemcachedRightsTest : public MemcachedTest {
 protected:
  MemcachedRightsTest() {
    Ask("get a\r\n");  // Reads the containers.
    frontend_->SetAccount(account_);
  }

  Item Parsing(const std::string& input, base::Arena& arena) {
    Item item;
    EXPECT_EQ(Parsed::kItem, frontend_->Parse(input, false, arena, &item).parsed) << input;
    EXPECT_EQ(Item::Kind::kRequest, item.kind) << input;
    return item;
  }
  /// Executes a binary set over the limit on a connection of its own.
  void SetTooLarge(std::shared_ptr<const model::Account> account) {
    MemcachedFrontend binary(*shared_);
    binary.SetAccount(std::move(account));
    std::string header{'\x80', 1, 0, 1, 8, 0, 0, 0, 0, 0x20, 0, 0};
    header.resize(24);
    base::Arena arena;
    base::Buffer out;
    Item item;
    const std::string input = header + std::string(8, '\0') + "k123";
    EXPECT_EQ(Parsed::kItem, binary.Parse(input, false, arena, &item).parsed);
    session_.BeginTurn(true);
    EXPECT_TRUE(binary.Execute(item, session_, out).ok());
    EXPECT_TRUE(session_.Commit().ok());
  }
  size_t rows() const { return store_.RowCount("test.demo"); }

  const std::shared_ptr<const model::Account> account_ =
      std::make_shared<model::Account>("app", "localhost");
};

TEST_F(MemcachedRightsTest, AnEditThatMayDeleteItsRowAsksForThat) {
  const auto may_delete = [this](const std::string& command) {
    base::Arena arena;
    return Parsing(command, arena).request.edit.may_delete;
  };
  for (const char* ends :
       {"delete a\r\n", "touch a -1\r\n", "gat -1 a\r\n", "mg a T-1\r\n", "ma a T-1\r\n",
        "set a 0 -1 1\r\nx\r\n", "ms a 1 T-1\r\nx\r\n", "set a 0 2592001 1\r\nx\r\n"}) {
    EXPECT_TRUE(may_delete(ends)) << ends;
  }
  for (const char* lasts : {"touch a 100\r\n", "gat 0 a\r\n", "mg a T9\r\n", "incr a 1\r\n",
                            "set a 0 0 1\r\nx\r\n", "md a I T-1\r\n", "md a x T-1\r\n"}) {
    EXPECT_FALSE(may_delete(lasts)) << lasts;
  }
}

TEST_F(MemcachedRightsTest, AnAccountDoesNotResetWhatOthersLookAt) {
  EXPECT_EQ("SERVER_ERROR access denied\r\n", Ask("stats reset\r\n"));
}

TEST_F(MemcachedRightsTest, AnItemIsMadeStaleByAnAccountThatMayUpdateIt) {
  const auto columns = [this](const std::string& command) {
    base::Arena arena;
    return Parsing(command, arena).request.edit.may_update.size();
  };
  EXPECT_EQ(1u, columns("md a I\r\n")) << "the cas";
  EXPECT_EQ(2u, columns("md a I T9\r\n")) << "the cas, and when it expires";
  EXPECT_EQ(2u, columns("md @@pairs.a|1 I\r\n")) << "without a cas_column, the values";
}

// The account's rights are checked before the item expires, and the row is reached after that.
TEST_F(MemcachedRightsTest, AnItemWhoseTimePassesAfterItsJudgementKeepsItsRow) {
  using Parts = std::pair<std::string, std::string>;
  for (const auto& [begin, end] :
       {Parts("touch a ", "\r\n"), Parts("gat ", " a\r\n"), Parts("mg a T", "\r\n"),
        Parts("ma a T", "\r\n"), Parts("set a 0 ", " 1\r\n2\r\n"),
        Parts("ms a 1 T", "\r\n2\r\n")}) {
    EXPECT_EQ("STORED\r\n", Set("a", "1", "0"));
    const int64_t soon_s = shared_->keyspaces->NowMs() / 1000 + 5;
    const std::string input = begin + std::to_string(soon_s) + end;
    base::Arena arena;
    base::Buffer out;
    const Item item = Parsing(input, arena);
    EXPECT_FALSE(item.request.edit.may_delete) << input;
    MoveClock(10);
    EXPECT_TRUE(Execute(item, out).ok()) << input;
    frontend_->Finished(item, {});
    EXPECT_EQ(1u, rows()) << input;
    EXPECT_EQ("END\r\n", Ask("get a\r\n")) << input;
  }
}

TEST_F(MemcachedRightsTest, ASetThatIsTooLargeEndsAnItemAndDeletesOnlyWhatItMay) {
  Set("k", "1", "100");
  SetTooLarge(account_);
  EXPECT_EQ(1u, rows());
  EXPECT_EQ("END\r\n", Ask("get k\r\n"));
  Set("k", "1", "100");
  SetTooLarge(nullptr);
  EXPECT_EQ(0u, rows());
}

}  // namespace
}  // namespace rowsocket::frontend
