// A protocol without an open of its own: its frontend asks for the index when the first request
// needs it, and one item may be several requests.
#include <algorithm>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::fake::Call;

/// A protocol that answers `1 2 3\n` with the values of these keys, each on its line, and a dot; or
/// with the name of an error.
class Getter final : public Frontend {
 public:
  Step Parse(std::string_view input, bool, base::Arena& arena, Item* item) override {
    const size_t end = input.find('\n');
    if (end == std::string_view::npos) return {Parsed::kNeedMore, 0};
    if (index_ == nullptr && failure_.ok()) {
      item->kind = Item::Kind::kSilentOpen;
      item->names = &names_;
      return {Parsed::kItem, 0};
    }
    item->error = std::exchange(failure_, model::Error());
    if (item->error.ok()) {
      item->kind = Item::Kind::kRequest;
      item->index = index_.get();
      item->detail = Split(input.substr(0, end), arena);
    }
    return {Parsed::kItem, end + 1};
  }
  void Rewind() override {}
  size_t input_bytes_max() const override { return 1000; }
  bool authenticated() const override { return true; }
  void Opened(Item&, const engine::Outcome& outcome,
              std::shared_ptr<engine::Index> index) override {
    failure_ = outcome.error;
    index_ = std::move(index);
  }
  engine::Outcome Execute(const Item& item, engine::Session& session,
                          base::Buffer& out) const override {
    const size_t reply_begin = out.size();
    Values values(out);
    engine::Outcome outcome;
    for (const model::Value& key : static_cast<const Keys*>(item.detail)->values) {
      model::Request request;
      request.find.key = {&key, 1};
      request.find.key_parts_given = 1;
      outcome = session.Execute(*item.index, request, values);
      if (outcome.ok()) continue;
      out.Truncate(reply_begin);
      return outcome;
    }
    out.Append(".\n");
    return outcome;
  }
  bool MayConcern(const Item&, const WriteSet&) const override { return true; }
  void Reply(const Item& item, base::Buffer& out) const override {
    ReplyError(item, item.error, out);
  }
  void ReplyError(const Item&, model::Error error, base::Buffer& out) const override {
    out.Append(model::Name(error.code));
    out.Append('\n');
  }

 private:
  class Values final : public model::RowSink {
   public:
    explicit Values(base::Buffer& out) : out_(out) {}
    bool Cell(std::string_view text) override {
      out_.Append(text);
      out_.Append('\n');
      return true;
    }
    bool NullCell() override { return Cell("NULL"); }

   private:
    base::Buffer& out_;
  };

  struct Keys : ItemDetail {
    std::span<model::Value> values;
  };

  static Keys* Split(std::string_view line, base::Arena& arena) {
    const auto count = static_cast<size_t>(std::count(line.begin(), line.end(), ' ')) + 1;
    Keys& keys = arena.Allocate<Keys>(1)[0];
    keys.values = arena.Allocate<model::Value>(count);
    for (model::Value& key : keys.values) {
      const size_t end = std::min(line.find(' '), line.size());
      key = model::Value(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return &keys;
  }

  engine::IndexNames names_{"test", "t", "", {"v"}, {}};
  std::shared_ptr<engine::Index> index_;
  model::Error failure_;
};

class SilentOpenTest : public ::testing::Test {
 protected:
  SilentOpenTest() {
    server_.make_frontend = [] { return std::make_unique<Getter>(); };
  }
  TestPort server_;
};

TEST_F(SilentOpenTest, IndexIsOpenedByTheFirstRequestAndNotAnswered) {
  server_.Start();
  LineClient client = server_.Connect();
  client.Send("1 3\n2\n");
  for (const char* line : {"10", "30", ".", "20", "."}) EXPECT_EQ(line, client.ReadLine());
  EXPECT_EQ(1u, server_.store.calls(Call::Kind::kOpenIndex));
  EXPECT_EQ(0u, server_.Stat(Stat::kOpens));
}

TEST_F(SilentOpenTest, FrontendAnswersTheFailureAndTriesAgainNextTime) {
  server_.store.DropTable(kServedTable);
  server_.Start();
  LineClient client = server_.Connect();
  client.Send("1\n1\n");
  EXPECT_EQ("open_table", client.ReadLine());
  EXPECT_EQ("open_table", client.ReadLine());
  server_.store.CreateTable({kServedTable, {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", "11"}});
  EXPECT_EQ("11", client.Ask("1\n"));
}

TEST_F(SilentOpenTest, HeldTableIsWaitedForInTheLane) {
  server_.Start();
  LineClient client = server_.Connect();
  LineClient other = server_.Connect();
  auto held = server_.store.LockTable(kServedTable);
  client.Send("1\n2\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  held.reset();
  for (const char* line : {"10", ".", "20", "."}) EXPECT_EQ(line, client.ReadLine());
  EXPECT_EQ(1u, server_.Stat(Stat::kLockWaits));
}

TEST_F(SilentOpenTest, WaitForAHeldTableMayFail) {
  server_.store.SetLockWaitMs(5);
  server_.Start();
  LineClient client = server_.Connect();
  auto held = server_.store.LockTable(kServedTable);
  EXPECT_EQ("lock_wait", client.Ask("1\n"));
  held.reset();
  EXPECT_EQ("10", client.Ask("1\n"));
}

}  // namespace
}  // namespace rowsocket::exec
