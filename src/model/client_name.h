// The name that a client gives its connection, for operators: in the table of connections, in the
// log of slow queries, in rowsocket-top.
#pragma once

#include <algorithm>
#include <string_view>

#include "model/limits.h"

namespace rowsocket::model {

/// Whether a client may take this name. Every protocol has the rule of Redis: no blank, and no byte
/// that would do more in a terminal or a log than show a character. An empty name removes the name.
inline bool IsClientName(std::string_view name) {
  return name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), [](char byte) {
           return byte >= '!' && byte <= '~';
         });
}

}  // namespace rowsocket::model
