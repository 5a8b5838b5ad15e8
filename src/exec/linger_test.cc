#include "exec/linger.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rowsocket::exec {
namespace {

/// How many turns of one client pass until the worker looks on again.
uint32_t TurnsPutOff(Linger& linger) {
  uint32_t turns = 0;
  while (!linger.Begins(1)) ++turns;
  return turns;
}

TEST(Linger, LooksOnWhereFewClientsSend) {
  Linger linger;
  EXPECT_TRUE(linger.Begins(1));
  EXPECT_TRUE(linger.Begins(Linger::kClientsMax));
  EXPECT_FALSE(linger.Begins(Linger::kClientsMax + 1));
}

TEST(Linger, TheMomentEnds) {
  Linger linger;
  EXPECT_FALSE(linger.is_on());
  linger.Begin(1000);
  EXPECT_TRUE(linger.is_on());
  EXPECT_FALSE(linger.IsOver(1000 + Linger::kMomentUs - 1));
  EXPECT_TRUE(linger.IsOver(1000 + Linger::kMomentUs));
  linger.End(false);
  EXPECT_FALSE(linger.is_on());
}

TEST(Linger, WhereRequestsComeItLooksOnAfterEachTurn) {
  Linger linger;
  for (int turn = 0; turn < 100; ++turn) {
    ASSERT_TRUE(linger.Begins(1)) << turn;
    linger.Begin(1);
    linger.End(true);
  }
}

TEST(Linger, EachMissPutsTheNextTryOffTwiceAsLong) {
  Linger linger;
  for (uint32_t expected = 1; expected < 2 * Linger::kTurnsPutOffMax; expected = 2 * expected + 1) {
    linger.Begin(1);
    linger.End(false);
    EXPECT_EQ(TurnsPutOff(linger), std::min(expected, Linger::kTurnsPutOffMax));
  }
  linger.Begin(1);
  linger.End(false);
  EXPECT_EQ(TurnsPutOff(linger), Linger::kTurnsPutOffMax);
}

TEST(Linger, ASingleFindAfterManyMissesBringsNoTryAfterEachMiss) {
  Linger linger;
  for (int miss = 0; miss < 10; ++miss) linger.End(false);
  linger.End(true);
  EXPECT_EQ(TurnsPutOff(linger), 0U);
  linger.Begin(1);
  linger.End(false);
  EXPECT_EQ(TurnsPutOff(linger), Linger::kTurnsPutOffMax);
}

}  // namespace
}  // namespace rowsocket::exec
