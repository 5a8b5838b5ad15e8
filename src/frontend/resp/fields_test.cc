#include "frontend/resp/fields.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "frontend/resp/resp_fixture.h"
#include "model/limits.h"

namespace rowsocket::frontend {
namespace {

size_t comparisons = 0;

struct CountedName {
  size_t name = 0;
  friend bool operator<(const CountedName& a, const CountedName& b) {
    ++comparisons;
    return a.name < b.name;
  }
  friend bool operator==(const CountedName& a, const CountedName& b) {
    ++comparisons;
    return a.name == b.name;
  }
};

TEST(RespFields, ManyNamesAreNotComparedEachWithAllOthers) {
  constexpr size_t kPairs = (model::kRespServedArgumentsMax - 2) / 2, kDifferent = kPairs / 2;
  std::vector<CountedName> names;
  for (size_t i = 0; i < kPairs; ++i) names.push_back({i * 7919 % kDifferent});
  comparisons = 0;
  LeaveEachOnce(&names);
  EXPECT_EQ(names.size(), kDifferent);
  EXPECT_LT(comparisons, 40 * kPairs);
}

TEST(RespFields, ManyGivenFieldsAreNotComparedEachWithAllPairs) {
  constexpr size_t kPairs = 4096, kDifferent = 1000;
  std::vector<CountedName> pairs;
  for (size_t i = 0; i < kPairs; ++i) {
    pairs.push_back({i * 7919 % kDifferent});
    pairs.push_back({i});
  }
  comparisons = 0;
  const RespGivenFields<CountedName> given(pairs);
  for (size_t name = 0; name < kDifferent; ++name) ASSERT_NE(nullptr, given.ValueOf({name}));
  EXPECT_EQ(nullptr, given.ValueOf({kDifferent}));
  EXPECT_LT(comparisons, 40 * kPairs);
}

TEST(RespFields, TheLastValueOfAFieldThatIsGivenAgainCounts) {
  for (const size_t count : std::initializer_list<size_t>{0, 1, 2, 7, 8, 9, 10, 100}) {
    std::vector<CountedName> pairs;
    for (size_t i = 0; i < count; ++i) {
      pairs.push_back({i * 3 % 5});
      pairs.push_back({i});
    }
    const RespGivenFields<CountedName> given(pairs);
    for (size_t name = 0; name < 6; ++name) {
      const CountedName* last = nullptr;
      for (size_t at = 0; at < pairs.size(); at += 2) {
        if (pairs[at].name == name) last = &pairs[at + 1];
      }
      EXPECT_EQ(last, given.ValueOf({name})) << count << " pairs, field " << name;
    }
  }
}

TEST_F(RespTest, ALongHSetStoresTheLastValueOfEachField) {
  std::string command = "HSET t:1";
  for (int i = 0; i < 100; ++i) command += " w a" + std::to_string(i) + " v " + std::to_string(i);
  EXPECT_EQ(":1\r\n", Ask(command));
  EXPECT_EQ("*2\r\n$2\r\n99\r\n$3\r\na99\r\n", Ask("HMGET t:1 v w"));
}

TEST_F(RespTest, HSetOpensEachOfItsFieldsOnceInTheirOrder) {
  std::vector<std::string> opened;
  store_.SetHook([&opened](const engine::fake::Call& call) {
    if (call.kind == engine::fake::Call::Kind::kOpenIndex) opened = call.names->columns;
    return engine::Outcome();
  });
  EXPECT_EQ(":1\r\n", Ask("HSET t:1 w a v 11 w b v 12"));
  EXPECT_EQ(opened, (std::vector<std::string>{"v", "w"}));
  EXPECT_EQ("*2\r\n$2\r\n12\r\n$1\r\nb\r\n", Ask("HMGET t:1 v w"));
  opened.clear();
  EXPECT_EQ("+OK\r\n", Ask("HMSET t:1 w c v 13"));
  EXPECT_EQ(opened, (std::vector<std::string>{"v", "w"}));
}

}  // namespace
}  // namespace rowsocket::frontend
