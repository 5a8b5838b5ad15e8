// A KILL QUERY right before InnoDB begins a wait that the library's hook cancels.
#include <gtest/gtest.h>

#include "api.h"
#include "engine/contract/fixture.h"

namespace rowsocket::engine::contract {
namespace {

using model::ErrorCode;

/// Kills the statement that meets a row lock, and then lets the hook see the wait, as if the KILL
/// QUERY of another session had come at that moment.
class KillAtWait {
 public:
  KillAtWait() {
    next_ = Connection_handler_manager::event_functions;
    functions_ = *next_;
    functions_.thd_wait_begin = [](THD* thd, int type) {
      if (type == THD_WAIT_ROW_LOCK) thd->killed = THD::KILL_QUERY;
      next_->thd_wait_begin(thd, type);
    };
    Connection_handler_manager::event_functions = &functions_;
  }
  ~KillAtWait() { Connection_handler_manager::event_functions = next_; }
  KillAtWait(const KillAtWait&) = delete;
  KillAtWait& operator=(const KillAtWait&) = delete;

 private:
  static inline THD_event_functions* next_;
  static inline THD_event_functions functions_;
};

TEST_F(EngineContract, KillOfAStatementThatThenMeetsALockEndsTheStatement) {
  User user(*harness_, LockWait::kNever);
  auto held = harness_->InsertRow("5");
  user.BeginTurn(true);
  {
    const KillAtWait kill;
    EXPECT_EQ(ErrorCode::kKilled, user.Do(Command::Insert({"5", "2"})).error.code);
  }
  EXPECT_EQ(ErrorCode::kLockWait, user.Do(Command::Insert({"5", "2"})).error.code);
  EXPECT_TRUE(user.Commit().ok());
}

}  // namespace
}  // namespace rowsocket::engine::contract
