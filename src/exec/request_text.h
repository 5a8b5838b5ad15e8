// A request as a text that reads like SQL, for people and for the tools that read the server's log
// of slow queries. It cannot be executed: the columns of a key are not named.
//
// Threads: pure.
// Limits: kSlowValueBytesMax bytes of a value, kSlowTextBytesMax in all.
#pragma once

#include <string>

#include "exec/frontend.h"

namespace rowsocket::exec {

/// The text of a kRequest item. `shows_values` false: a question mark stands for each value.
std::string TextOf(const Item& item, const Frontend& frontend, bool shows_values);

}  // namespace rowsocket::exec
