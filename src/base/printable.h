// Makes texts from tables and from the wire fit into one line of a log or of a reply.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace rowsocket::base {

inline bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

/// `text` with a `?` for each control character.
inline std::string Printable(std::string_view text) {
  std::string printable(text);
  std::replace_if(printable.begin(), printable.end(), IsControl, '?');
  return printable;
}

}  // namespace rowsocket::base
