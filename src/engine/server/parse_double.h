// Reads a DOUBLE at the front of a text, as SQL does, whatever the text's length.
//
// The server's own function (my_strtod in strings/dtoa.c, after David Gay) takes time that grows
// with the square of the digits before the point: 20,000 digits and a negative exponent take 30 ms.
#pragma once

#include <cstddef>
#include <string_view>

namespace rowsocket::engine::server {

struct ParsedDouble {
  double value = 0;
  size_t bytes = 0;  ///< How many bytes of the text are the number; 0: there is none.
  int error = 0;     ///< Not 0: the number is beyond the range of DOUBLE.
};

ParsedDouble ParseDoublePrefix(std::string_view text);

}  // namespace rowsocket::engine::server
