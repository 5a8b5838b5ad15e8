// The lines of a group of requests with one outcome (spec/handlersocket.md):
//   G <n>
//   R|O <id> ...        n times: a required or an optional request
//
// Threads: any; nothing is shared.
// Lifetime: views of the line and the arena, as Command has them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/arena.h"
#include "model/limits.h"
#include "protocol/handlersocket/parser.h"

namespace rowsocket::handlersocket {

/// Whether the line begins a group.
bool IsGroup(std::string_view line);

/// How many lines belong to the group that the line begins; without a value if the count is not
/// from 1 to kGroupRequestsMax: no line then belongs to it.
std::optional<size_t> ParseGroup(std::string_view line);

/// Finds the end of a group's lines in a growing input; each byte is searched once.
class GroupLines {
 public:
  /// The offset after the last of `count` lines that begin at `begin`; without a value: not all of
  /// them have come.
  std::optional<size_t> End(std::string_view input, size_t begin, size_t count);
  void Reset() { *this = GroupLines(); }

 private:
  size_t scanned_ = 0;  ///< Bytes at the front of the input that were searched.
  size_t found_ = 0;    ///< How many line ends are in these bytes.
};

struct GroupRequest {
  bool is_required = true;
  std::string_view line;  ///< The request without `R` or `O`.
  /// The command of the line. If the line is no request, the kind is not kRequest, or there is an
  /// error.
  Command command;
};

/// Takes the next line off the front of `*lines`.
GroupRequest NextGroupRequest(std::string_view* lines, const model::Limits& limits,
                              base::Arena& arena);

}  // namespace rowsocket::handlersocket
