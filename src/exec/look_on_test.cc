#include "exec/look_on.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rowsocket::exec {
namespace {

/// How many turns of one client pass until the worker looks on again.
uint32_t TurnsPutOff(LookOn& look_on) {
  uint32_t turns = 0;
  while (!look_on.Begins(1)) ++turns;
  return turns;
}

TEST(LookOn, LooksOnWhereFewClientsSend) {
  LookOn look_on;
  EXPECT_TRUE(look_on.Begins(1));
  EXPECT_TRUE(look_on.Begins(LookOn::kClientsMax));
  EXPECT_FALSE(look_on.Begins(LookOn::kClientsMax + 1));
}

TEST(LookOn, TheMomentEnds) {
  LookOn look_on;
  EXPECT_FALSE(look_on.is_on());
  look_on.Begin(1000);
  EXPECT_TRUE(look_on.is_on());
  EXPECT_FALSE(look_on.IsOver(1000 + LookOn::kMomentUs - 1));
  EXPECT_TRUE(look_on.IsOver(1000 + LookOn::kMomentUs));
  look_on.End(false);
  EXPECT_FALSE(look_on.is_on());
}

TEST(LookOn, WhereRequestsComeItLooksOnAfterEachTurn) {
  LookOn look_on;
  for (int turn = 0; turn < 100; ++turn) {
    ASSERT_TRUE(look_on.Begins(1)) << turn;
    look_on.Begin(1);
    look_on.End(true);
  }
}

TEST(LookOn, EachMissPutsTheNextTryOffTwiceAsLong) {
  LookOn look_on;
  for (uint32_t expected = 1; expected < 2 * LookOn::kTurnsPutOffMax; expected = 2 * expected + 1) {
    look_on.Begin(1);
    look_on.End(false);
    EXPECT_EQ(TurnsPutOff(look_on), std::min(expected, LookOn::kTurnsPutOffMax));
  }
  look_on.Begin(1);
  look_on.End(false);
  EXPECT_EQ(TurnsPutOff(look_on), LookOn::kTurnsPutOffMax);
}

TEST(LookOn, ASingleFindAfterManyMissesBringsNoTryAfterEachMiss) {
  LookOn look_on;
  for (int miss = 0; miss < 10; ++miss) look_on.End(false);
  look_on.End(true);
  EXPECT_EQ(TurnsPutOff(look_on), 0U);
  look_on.Begin(1);
  look_on.End(false);
  EXPECT_EQ(TurnsPutOff(look_on), LookOn::kTurnsPutOffMax);
}

}  // namespace
}  // namespace rowsocket::exec
