// S7 by its definition: random requests for one row have the same answers and effects one by one as
// merged into one change.
#include <random>

#include "engine/contract/fixture.h"

namespace rowsocket::engine::contract {
namespace {

constexpr int kRuns = 60;
constexpr int kRequestsMax = 12;

/// A request that can be made again, each time with an Editor of its own.
struct Step {
  enum class Kind : uint8_t { kFind, kUpdate, kIncrement, kDecrement, kDelete, kEdit };
  Kind kind;
  std::string value;
  bool wants_before_images;
  Decision decision;

  Command Make(const std::string& id, Editor* editor) const {
    Command command;
    switch (kind) {
      case Kind::kFind:
        return Command::Find(CompareOp::kEq, id);
      case Kind::kUpdate:
        command = Command::Modify(Modification::kUpdate, id, value);
        break;
      case Kind::kIncrement:
        command = Command::Modify(Modification::kIncrement, id, value);
        break;
      case Kind::kDecrement:
        command = Command::Modify(Modification::kDecrement, id, value);
        break;
      case Kind::kDelete:
        command = Command::Delete(id);
        break;
      case Kind::kEdit:
        *editor = Editor(decision, value);
        return Command::Edit(id, *editor);
    }
    command.request.find.wants_before_images = wants_before_images;
    return command;
  }
};

std::vector<Step> RandomSteps(std::mt19937& random) {
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  const std::vector<std::string> values = {"0", "1", "7", "15", "-3", "9223372036854775807"};
  const std::vector<Decision> decisions = {Decision::kKeep, Decision::kStore, Decision::kRenew,
                                           Decision::kDelete, Decision::kClear};
  std::vector<Step> steps(1 + below(kRequestsMax));
  for (Step& step : steps) {
    step = {static_cast<Step::Kind>(below(6)), values[below(values.size())], below(2) == 0,
            decisions[below(decisions.size())]};
  }
  return steps;
}

std::string Told(const Outcome& outcome, const User& user, const Editor& editor) {
  return (outcome.ok() ? "ok " + std::to_string(outcome.rows) + " " + user.sink.text
                       : "error " + std::to_string(outcome.error.number)) +
         " saw " + editor.seen + "\n";
}

/// Executes the requests and returns all their answers; afterwards the table has the resulting row.
std::string Play(Harness& harness, const std::vector<Step>& steps, const std::string& id,
                 bool merged) {
  std::string told;
  User user(harness, LockWait::kNever, {"v"});
  user.BeginTurn(true);
  Editor editor(Decision::kKeep);
  if (merged) {
    const RowOpening opening = user.BeginRow(steps.front().Make(id, &editor));
    EXPECT_TRUE(opening.opened());
    if (!opening.opened()) return told;
  }
  for (const Step& step : steps) {
    const Command command = step.Make(id, &editor);
    editor.seen.clear();
    if (merged) {
      EXPECT_EQ(NotMergeable::kNone, user.RowTakes(command));
    }
    const Outcome outcome = user.Do(command);
    told += Told(outcome, user, editor);
  }
  if (merged) {
    EXPECT_TRUE(user.EndRow().ok());
  }
  told += "then " + user.SeeRow(id);
  EXPECT_TRUE(user.Commit().ok());
  return told;
}

TEST_F(EngineContract, S7MergedRequestsAreAsOneByOne) {
  std::mt19937 random(1);
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(run);
    const std::vector<Step> steps = RandomSteps(random);
    const std::string id = run % 3 == 0 ? "3" : "1";  // an absent row, or an existing one
    std::string told[2], left[2];
    for (const bool merged : {false, true}) {
      CreateTable();
      told[merged] = Play(*harness_, steps, id, merged);
      left[merged] = harness_->Dump();
    }
    ASSERT_EQ(told[0], told[1]);
    ASSERT_EQ(left[0], left[1]);
  }
}

}  // namespace
}  // namespace rowsocket::engine::contract
