// The command that one line of memcached makes, as a text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "protocol/memcached/test_feed.h"

namespace rowsocket::memcached {

struct LineCase {
  std::string line;
  std::string command;
};

/// The only command that a line makes.
inline std::string ParsedLine(const std::string& line) {
  const std::string bytes = line + "\r\n";
  const Fed fed = Feed(bytes, bytes.size(), {}, false, [](auto input, auto& step, auto& command) {
    EXPECT_LE(step.consumed, input.size());
    EXPECT_EQ(CheckCommand(input, {}, command), "");
  });
  EXPECT_EQ(fed.commands.size(), 1u) << line;
  EXPECT_EQ(fed.pending_bytes, 0u) << line;
  return fed.commands.empty() ? "" : fed.commands.front();
}

}  // namespace rowsocket::memcached
