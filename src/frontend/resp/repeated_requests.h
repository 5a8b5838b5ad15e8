// How a connection recognizes a command that comes again: clients send the same command again and
// again, for another key.
//
// Flow: Next takes a request off the input, CommandOf says which command it is, and Note is told of
// each one that was taken and is on rows. Where Next has not taken one, the next input begins with
// the same bytes, unless Rewind was called.
// Threads: one at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/arena.h"
#include "frontend/resp/command.h"
#include "protocol/resp/request.h"

namespace rowsocket::frontend {

class RespRepeatedRequests {
 public:
  resp::RequestStep Next(std::string_view input, const resp::RequestLimits& limits,
                         base::Arena& arena);
  /// The input that comes next may be another one.
  void Rewind() { progress_ = {}; }
  /// Whether the request that Next has taken last differs from the pattern in its key alone.
  bool repeats() const { return repeats_; }
  /// The command of this name, in any case; null: there is none.
  const RespCommand* CommandOf(std::string_view name);
  /// Returns whether the request, which Next has taken last, is the pattern from now on. `bytes`:
  /// those of the request.
  bool Note(const RespCommand& command, RespArguments arguments, std::string_view bytes);

 private:
  resp::RequestProgress progress_;             ///< How far a request that is not whole has come.
  const RespCommand* last_command_ = nullptr;  ///< The command called last_name_; null: none.
  std::string last_name_;                      ///< As the client wrote it.
  /// A request of which the next one may differ in its key alone. Of commands on rows alone, so
  /// that no secret is kept.
  resp::RequestPattern pattern_;
  bool repeats_ = false;
  /// The command of the request that Note was told of last, where it was not one of pattern_.
  const RespCommand* noted_command_ = nullptr;
};

}  // namespace rowsocket::frontend
