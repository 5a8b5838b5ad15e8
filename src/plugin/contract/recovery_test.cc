// How a session recovers from a KILL, and from a lack of memory. Only the library's own allocations
// fail here, not those within the server's functions.
#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <string>
#include <thread>

#include "engine/contract/fixture.h"
#include "exec/test_memory.h"

namespace rowsocket::engine::contract {
namespace {

using model::ErrorCode;

/// For how long a killed session finds no memory.
constexpr std::chrono::milliseconds kShortage{200};

// Memory runs out when the session's first turn begins. Whoever catches that calls Rollback, within
// a handler: a second exception would end the server.
TEST_F(EngineContract, RollbackOfAFirstTurnNeedsNoMemory) {
  User user(*harness_, LockWait::kNever);
  {
    const exec::OutOfMemory no_memory;
    try {
      user.BeginTurn(true);
    } catch (const std::bad_alloc&) {  // A turn may begin with an allocation.
    }
    EXPECT_NO_THROW(user.Rollback());
  }
  user.BeginTurn(true);
  EXPECT_EQ("1,10,", user.SeeRow("1"));
  EXPECT_TRUE(user.Commit().ok());
}

TEST_F(EngineContract, KilledSessionSaysAtOnceThatItCannotInspect) {
  User user(*harness_, LockWait::kNever);
  user.Describe("killed before a look");
  EXPECT_TRUE(user.InspectAtOnce().ok());
  harness_->KillSession("killed before a look");
  EXPECT_EQ(ErrorCode::kKilled, user.InspectAtOnce().error.code);
  EXPECT_TRUE(user.Inspect().ok());
  EXPECT_TRUE(user.InspectAtOnce().ok());
}

TEST_F(EngineContract, RollbackOfAKilledSessionWaitsForMemory) {
  const std::string description = "killed without memory";
  for (const bool in_turn : {true, false}) {
    User user(*harness_, LockWait::kNever);
    user.Describe(description);
    if (in_turn) user.BeginTurn(true);
    harness_->KillSession(description);
    std::future<void> rolled_back;
    {
      const exec::OutOfMemory no_memory;
      rolled_back = user.StartRollback();
      std::this_thread::sleep_for(kShortage);
    }
    EXPECT_NO_THROW(rolled_back.get());
    user.BeginTurn(true);
    EXPECT_EQ("1,10,", user.SeeRow("1"));
    EXPECT_TRUE(user.Commit().ok());
  }
}

}  // namespace
}  // namespace rowsocket::engine::contract
