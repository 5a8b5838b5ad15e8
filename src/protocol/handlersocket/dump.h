// A command as one line of text: what the golden vectors call `parse`. For tests and fuzzing.
//
//   invalid
//   open <id> "<db>" "<table>" "<index>" [<columns>] [<filter columns>]
//   auth <key>
//   find <id> <op> <n>[<values>] limit=<n> offset=<n> in=<icol>[<values>]
//        filters=[<F|W> <fop> <fcol> <value>; ...] mod=<U|D|+|->[?][<values>] write
//   insert <id> [<values>] write
//
// and `!<error name>` for each error, in check order. Parts that the line does not have are left
// out; an id that is no number is `-`; texts are in quotes, with \xHH for bytes outside printable
// ASCII and for quote and backslash; NULL has no quotes.
#pragma once

#include <string>

#include "protocol/handlersocket/parser.h"

namespace rowsocket::handlersocket {

std::string Dump(const Command& command);

}  // namespace rowsocket::handlersocket
