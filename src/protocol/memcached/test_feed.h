// Gives a parser bytes in pieces and collects the commands that the parser makes. For tests and
// fuzzing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/memcached/dump.h"
#include "protocol/memcached/parser.h"

namespace rowsocket::memcached {

/// The result of parsing all bytes of a connection.
struct Fed {
  /// The dumps; "malformed" for bytes that close the connection without an answer.
  std::vector<std::string> commands;
  bool closed = false;
  size_t pending_bytes = 0;  ///< The bytes of an incomplete command.
};

/// `rewinds`: every command is parsed a second time, after Rewind.
/// `on_command` sees each command while its input is there; see CheckCommand.
template <typename OnCommand>
Fed Feed(std::string_view bytes, size_t piece_bytes, const model::Limits& limits, bool rewinds,
         OnCommand&& on_command) {
  Fed fed;
  Parser parser;
  std::string pending;
  while (!bytes.empty() && !fed.closed) {
    const std::string_view piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    pending += piece;
    while (!fed.closed) {
      // Each call gets a copy of its own, so that ASan notices every read outside of the copy.
      const std::vector<char> copy(pending.begin(), pending.end());
      const std::string_view input(copy.data(), copy.size());
      base::Arena arena;
      Command command;
      Step step = parser.Next(input, limits, arena, &command);
      if (step.result == ParseResult::kCommand && rewinds) {
        parser.Rewind();
        step = parser.Next(input, limits, arena, &command);
      }
      if (step.result == ParseResult::kCommand || step.result == ParseResult::kMalformed) {
        on_command(input, step, command);
        fed.commands.push_back(step.result == ParseResult::kMalformed ? "malformed"
                                                                      : Dump(command));
        fed.closed = command.closes;
      }
      pending.erase(0, step.consumed);
      if (step.result == ParseResult::kNeedMore) break;
    }
  }
  fed.pending_bytes = pending.size();
  return fed;
}

}  // namespace rowsocket::memcached
