#include "exec/busy_poll.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rowsocket::exec {
namespace {

/// How many turns of one client pass until the worker polls again.
uint32_t TurnsPutOff(BusyPoll& busy_poll) {
  uint32_t turns = 0;
  while (!busy_poll.Begins(1)) ++turns;
  return turns;
}

TEST(BusyPoll, PollsWhereFewClientsSend) {
  BusyPoll busy_poll;
  EXPECT_TRUE(busy_poll.Begins(1));
  EXPECT_TRUE(busy_poll.Begins(BusyPoll::kClientsMax));
  EXPECT_FALSE(busy_poll.Begins(BusyPoll::kClientsMax + 1));
}

TEST(BusyPoll, TheMomentEnds) {
  BusyPoll busy_poll;
  EXPECT_FALSE(busy_poll.is_on());
  busy_poll.Begin(1000);
  EXPECT_TRUE(busy_poll.is_on());
  EXPECT_FALSE(busy_poll.IsOver(1000 + BusyPoll::kMomentUs - 1));
  EXPECT_TRUE(busy_poll.IsOver(1000 + BusyPoll::kMomentUs));
  busy_poll.End(false);
  EXPECT_FALSE(busy_poll.is_on());
}

TEST(BusyPoll, WhereRequestsComeItPollsAfterEachTurn) {
  BusyPoll busy_poll;
  for (int turn = 0; turn < 100; ++turn) {
    ASSERT_TRUE(busy_poll.Begins(1)) << turn;
    busy_poll.Begin(1);
    busy_poll.End(true);
  }
}

TEST(BusyPoll, EachMissPutsTheNextTryOffTwiceAsLong) {
  BusyPoll busy_poll;
  for (uint32_t expected = 1; expected < 2 * BusyPoll::kTurnsPutOffMax;
       expected = 2 * expected + 1) {
    busy_poll.Begin(1);
    busy_poll.End(false);
    EXPECT_EQ(TurnsPutOff(busy_poll), std::min(expected, BusyPoll::kTurnsPutOffMax));
  }
  busy_poll.Begin(1);
  busy_poll.End(false);
  EXPECT_EQ(TurnsPutOff(busy_poll), BusyPoll::kTurnsPutOffMax);
}

TEST(BusyPoll, ASingleFindAfterManyMissesBringsNoTryAfterEachMiss) {
  BusyPoll busy_poll;
  for (int miss = 0; miss < 10; ++miss) busy_poll.End(false);
  busy_poll.End(true);
  EXPECT_EQ(TurnsPutOff(busy_poll), 0U);
  busy_poll.Begin(1);
  busy_poll.End(false);
  EXPECT_EQ(TurnsPutOff(busy_poll), BusyPoll::kTurnsPutOffMax);
}

}  // namespace
}  // namespace rowsocket::exec
