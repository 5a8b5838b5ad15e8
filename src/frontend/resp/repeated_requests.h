// How a connection recognizes repeated commands: clients send the same command again and again,
// each time with another key.
//
// Flow: Next takes a request off the input, CommandOf says which command it is, and Note gets each
// request that was taken and is about rows. If Next has not taken a request, the next input begins
// with the same bytes, unless Rewind was called.
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
  /// Forgets a request that is not whole: the next input may be another one.
  void Rewind() { progress_ = {}; }
  /// Whether the request that Next has taken last differs from the pattern only in its key.
  bool repeats() const { return repeats_; }
  /// The command of this name, in upper or lower case; null: there is none.
  const RespCommand* CommandOf(std::string_view name);
  /// Notes the request that Next has taken last, and returns whether it is the pattern from now on.
  /// `bytes`: the request's.
  bool Note(const RespCommand& command, RespArguments arguments, std::string_view bytes);

 private:
  resp::RequestProgress progress_;             ///< How much of a request that is not whole has been
                                               ///< parsed.
  const RespCommand* last_command_ = nullptr;  ///< The command called last_name_; null: none.
  std::string last_name_;                      ///< As the client wrote it.
  /// A request from which the next one may differ only in its key. Only commands on rows are kept,
  /// and so no secret is.
  resp::RequestPattern pattern_;
  bool repeats_ = false;
  /// The command of the request that Note got last, unless it was a request like pattern_.
  const RespCommand* noted_command_ = nullptr;
};

}  // namespace rowsocket::frontend
