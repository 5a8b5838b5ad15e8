// Bytes as a text that can be read, for the dumps of tests and fuzz targets: in quotes, with \xHH
// for bytes outside printable ASCII and for quote and backslash.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace rowsocket::base {

inline std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\') {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(byte));
      quoted += escaped;
    } else {
      quoted += byte;
    }
  }
  return quoted + '"';
}

}  // namespace rowsocket::base
