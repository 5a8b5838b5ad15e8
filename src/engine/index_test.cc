#include "engine/index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace rowsocket::engine {
namespace {

IndexNames Names(std::string table, std::vector<std::string> columns = {"id"}) {
  return {"test", std::move(table), "PRIMARY", std::move(columns), {}};
}

TEST(IndexRegistry, EqualNamesAreOneObject) {
  IndexRegistry registry;
  const auto one = registry.Get(Names("t"));
  EXPECT_EQ(one, registry.Get(Names("t")));
  EXPECT_EQ(Names("t"), one->names());
  const auto other = registry.Get(Names("u"));
  EXPECT_NE(one, other);
  EXPECT_NE(one->id(), other->id());
  EXPECT_NE(one->serial(), other->serial());
}

// Lengths and separators are part of what tells names apart.
TEST(IndexRegistry, NamesThatReadTheSameInARowAreDifferent) {
  IndexRegistry registry;
  const auto columns = registry.Get(Names("t", {"a", "b"}));
  EXPECT_NE(columns, registry.Get(Names("t", {"ab"})));
  EXPECT_NE(columns, registry.Get(Names("t", {"a,b"})));
  EXPECT_NE(columns, registry.Get({"test", "t", "PRIMARY", {"a"}, {"b"}}));
  EXPECT_NE(columns, registry.Get(Names("t", {"a;1:b"})));
}

TEST(IndexRegistry, ANumberIsAnotherIndexThanTheNameWithItsDigits) {
  IndexRegistry registry;
  IndexNames number = Names("t"), name = Names("t");
  number.index = name.index = "1";
  name.index_is_name = true;
  const auto by_number = registry.Get(number);
  EXPECT_NE(by_number, registry.Get(name));
  number.index = name.index = "by_v";
  const auto by_v = registry.Get(number);
  EXPECT_EQ(by_v, registry.Get(name));
}

TEST(IndexRegistry, IdsStayDenseAndSerialsAreNew) {
  IndexRegistry registry;
  auto first = registry.Get(Names("t"));
  const auto second = registry.Get(Names("u"));
  const uint32_t id = first->id();
  const uint64_t serial = first->serial();
  first.reset();
  const auto third = registry.Get(Names("t"));
  EXPECT_EQ(id, third->id());
  EXPECT_GT(third->serial(), serial);
  EXPECT_EQ(2u, registry.Get(Names("v"))->id());
}

TEST(IndexRegistry, HandlesOutlastTheRegistry) {
  std::shared_ptr<Index> kept;
  {
    IndexRegistry registry;
    kept = registry.Get(Names("t"));
  }
  EXPECT_EQ("t", kept->names().table);
}

// Two live objects never share an id, however their making and releasing interleave.
TEST(IndexRegistry, ThreadsShareIt) {
  constexpr int kRounds = 20'000;
  IndexRegistry registry;
  std::atomic<bool> wrong{false};
  const auto open_and_close = [&](const char* own) {
    for (int i = 0; i < kRounds; ++i) {
      const auto shared = registry.Get(Names("shared"));
      const auto mine = registry.Get(Names(own));
      if (shared->id() == mine->id() || mine->names().table != own) wrong = true;
    }
  };
  std::thread other(open_and_close, "b");
  open_and_close("a");
  other.join();
  EXPECT_FALSE(wrong);
  EXPECT_LT(registry.Get(Names("a"))->id(), 4u);
}

}  // namespace
}  // namespace rowsocket::engine
