// CLIENT REPLY: whether the commands of a connection are answered.
//
// Flow: after CLIENT REPLY SKIP one command is not answered. While it is in a turn, nothing behind
// it is parsed; when it has its end, replies are on again (EndSkip).
// Threads: one at a time.
#pragma once

#include <cstdint>

namespace rowsocket::frontend {

class RespReplyMode {
 public:
  bool is_on() const { return mode_ == Mode::kOn; }
  /// The next command, or the one in the turn, is the one that SKIP is for.
  bool skips_one() const { return mode_ == Mode::kSkip; }
  /// The command that SKIP is for is in the turn.
  bool is_skip_in_turn() const { return is_skip_in_turn_; }

  void TurnOn() { mode_ = Mode::kOn; }
  void TurnOff() { mode_ = Mode::kOff; }
  /// SKIP changes nothing while replies are off, as in Redis.
  void SkipNext() {
    if (mode_ != Mode::kOff) mode_ = Mode::kSkip;
  }
  void SetSkipInTurn(bool is_in_turn) { is_skip_in_turn_ = is_in_turn; }
  /// The command that SKIP is for has its end.
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
