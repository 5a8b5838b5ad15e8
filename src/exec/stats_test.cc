#include "exec/stats.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rowsocket::exec {
namespace {

std::string NameOf(Stat stat) { return kStatInfo[static_cast<size_t>(stat)].name; }

TEST(Stats, EachErrorHasTheCounterOfItsName) {
  for (size_t code = 0; code <= static_cast<size_t>(model::ErrorCode::kEngine); ++code) {
    const auto error = static_cast<model::ErrorCode>(code);
    EXPECT_EQ("errors_" + std::string(model::Name(error)), NameOf(ErrorStat(error)));
  }
}

TEST(Stats, NamedFailuresOfTheEngineCountAsEngine) {
  using model::ErrorCode;
  for (const ErrorCode code : {ErrorCode::kLockWait, ErrorCode::kDeadlock, ErrorCode::kInternal}) {
    EXPECT_EQ("errors_engine", NameOf(ErrorStat(code)));
    const size_t own = static_cast<size_t>(Stat::kErrorsFirst) + static_cast<size_t>(code);
    EXPECT_FALSE(base::IsShownBy(kStatInfo[own].plugins, "handlersocket"));
  }
}

TEST(Stats, EachReasonWhyARequestIsNotMergedHasACounterOfItsOwn) {
  std::set<std::string> names;
  constexpr auto kReasons = static_cast<size_t>(RanAlone::kCount);
  for (size_t reason = 1; reason < kReasons; ++reason) {
    names.insert(NameOf(UnmergedStat(static_cast<RanAlone>(reason))));
  }
  EXPECT_EQ(kReasons - 1, names.size());
  for (const std::string& name : names) EXPECT_EQ(0u, name.find("unmerged_")) << name;
}

TEST(Stats, ACounterHasItsRowsNames) {
  const base::CounterInfo& info = kStatInfo[static_cast<size_t>(Stat::kBytesReceived)];
  EXPECT_STREQ("bytes_received", info.name);
  EXPECT_EQ("bytes_read", info.stats);
  EXPECT_TRUE(base::IsShownBy(info.plugins, "handlersocket"));
  EXPECT_EQ(base::CounterType::kGauge, kStatInfo[static_cast<size_t>(Stat::kConnections)].type);
}

}  // namespace
}  // namespace rowsocket::exec
