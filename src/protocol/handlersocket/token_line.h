// A line that begins with the token of its request (spec/handlersocket.md):
//   T <token> <request>
//
// Threads: any; nothing is shared.
// Lifetime: views of the line.
#pragma once

#include <algorithm>
#include <string_view>

#include "protocol/handlersocket/line_words.h"

namespace rowsocket::handlersocket {

struct TokenLine {
  std::string_view token;    ///< The token as it is on the wire, with its escapes.
  std::string_view request;  ///< The line after the token; may be empty.
};

inline bool IsTokenLine(std::string_view line) { return line.starts_with("T\t"); }

/// Splits the line into token and request. REQUIRES: IsTokenLine(line).
inline TokenLine SplitTokenLine(std::string_view line) {
  line.remove_prefix(2);
  const std::string_view token = LineWords(line).NextOrEmpty();
  return {token, line.substr(std::min(line.size(), token.size() + 1))};
}

}  // namespace rowsocket::handlersocket
