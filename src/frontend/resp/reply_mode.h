// CLIENT REPLY: whether the commands of a connection are answered.
//
// Flow: after CLIENT REPLY SKIP one command is not answered. While that command is in a turn,
// nothing after it is parsed; when it is done, replies are on again (EndSkip).
// Threads: one at a time.
#pragma once

#include <cstdint>

namespace rowsocket::frontend {

class RespReplyMode {
 public:
  bool is_on() const { return mode_ == Mode::kOn; }
  /// Whether SKIP is for the next command, or for the one in the turn.
  bool skips_one() const { return mode_ == Mode::kSkip; }
  /// Whether the command that SKIP is for is in the turn.
  bool is_skip_in_turn() const { return is_skip_in_turn_; }

  void TurnOn() { mode_ = Mode::kOn; }
  void TurnOff() { mode_ = Mode::kOff; }
  /// Makes the next command unanswered. While replies are off, SKIP changes nothing, as in Redis.
  void SkipNext() {
    if (mode_ != Mode::kOff) mode_ = Mode::kSkip;
  }
  void SetSkipInTurn(bool is_in_turn) { is_skip_in_turn_ = is_in_turn; }
  /// Switches replies on again when the command that SKIP is for is done.
  void EndSkip() {
    if (mode_ == Mode::kSkip) mode_ = Mode::kOn;
    is_skip_in_turn_ = false;
  }

 private:
  enum class Mode : uint8_t { kOn, kOff, kSkip };
  Mode mode_ = Mode::kOn;
  bool is_skip_in_turn_ = false;
};

}  // namespace rowsocket::frontend
