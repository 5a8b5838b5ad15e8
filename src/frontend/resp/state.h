// The state of a connection of RESP: what a command may change, and later commands depend on.
//
// Flow: the connection makes a change when it parses such a command. If the turn then stops before
// that command, or the lane throws it away, it is parsed again, and the connection first takes the
// change back: RespStateHistory has the state before it.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/resp/command.h"
#include "frontend/resp/numbers.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

inline constexpr std::string_view kRespDatabases[] = {"0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                                      "8", "9", "10", "11", "12", "13", "14", "15"};

/// Takes the number of a database from a client. Returns an empty text, or an error.
inline std::string_view TakeDatabase(std::string_view text, std::string_view* database) {
  int64_t number = 0;
  if (!ParsePlainInteger(text, &number)) return kNoInteger;
  if (number < 0 || number >= static_cast<int64_t>(std::size(kRespDatabases)))
    return "ERR DB index is out of range";
  *database = kRespDatabases[number];
  return {};
}

struct RespState {
  /// A command that MULTI has queued: copies of its words, which live until EXEC.
  struct Queued {
    const RespCommand* command;
    std::vector<std::string> arguments;
  };

  resp::Version version = resp::Version::k2;
  std::string_view database = kRespDatabases[0];
  bool in_multi = false;
  bool multi_failed = false;
  size_t multi_bytes = 0;  ///< The bytes of the queued commands.
  /// The calls of the commands after MULTI, with those of refused ones.
  size_t multi_key_calls = 0;
  std::shared_ptr<std::vector<Queued>> queued;  ///< in_multi: never null.

  void BeginMulti() {
    EndMulti();
    in_multi = true;
    queued = std::make_shared<std::vector<Queued>>();
  }
  void EndMulti() {
    in_multi = multi_failed = false;
    multi_bytes = multi_key_calls = 0;
    queued.reset();
  }
};

/// The state and the connection's name before each item of a turn that changes one of them, until
/// that item has its answer.
class RespStateHistory {
 public:
  /// Notes that the next item changes the state, or the name.
  void Note(const RespState& state, const std::string& name) { before_.push_back({state, name}); }
  /// Notes that the first of the items without an answer now has one: its change stays.
  void Finished() {
    if (++begin_ == before_.size()) Clear();
  }
  /// Gives the state and the name from before the first item without an answer, and forgets all
  /// such items, because they are parsed again. False: there is none.
  bool Undo(RespState* state, std::string* name) {
    if (before_.empty()) return false;
    *state = std::move(before_[begin_].state);
    *name = std::move(before_[begin_].name);
    Clear();
    return true;
  }

 private:
  struct Before {
    RespState state;
    std::string name;
  };

  void Clear() {
    before_.clear();
    begin_ = 0;
  }

  std::vector<Before> before_;  ///< In the order of the items.
  size_t begin_ = 0;            ///< Items before this one have their answers.
};

}  // namespace rowsocket::frontend
