// The common part of the fuzz targets of memcached's dialects: any bytes, in pieces of any size,
// through parser, a store in memory, and encoders.
//
// Input: one byte that chooses limits and pieces, then the bytes that a connection receives. The
// targets assert the promises of parser.h and command.h: the way in which the bytes were split
// makes no difference, nor does parsing each command twice; no more bytes are kept than the limits
// allow; replies are well formed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/memcached/binary.h"
#include "protocol/memcached/numbers.h"
#include "protocol/memcached/test_feed.h"
#include "protocol/memcached/test_store.h"

namespace rowsocket::memcached {

inline void Require(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

inline void RequireBinaryReplies(std::string_view replies, const Command& command) {
  while (!replies.empty()) {
    Require(replies.size() >= kHeaderBytes, "a reply has a header");
    Require(replies[0] == kResponseMagic, "a reply has its magic");
    Require(static_cast<uint8_t>(replies[1]) == command.opcode, "a reply has the opcode asked");
    Require(LoadBigEndian<uint32_t>(replies.data() + 12) == command.opaque,
            "a reply has the opaque asked");
    const size_t body_bytes = LoadBigEndian<uint32_t>(replies.data() + 8);
    const size_t front_bytes = LoadBigEndian<uint16_t>(replies.data() + 2) +
                               static_cast<size_t>(static_cast<uint8_t>(replies[4]));
    Require(front_bytes <= body_bytes, "key and extras are within the body");
    Require(replies.size() >= kHeaderBytes + body_bytes, "the body is there");
    replies.remove_prefix(kHeaderBytes + body_bytes);
  }
}

/// Whether a line is so long that the result depends on whether its end comes with it: see
/// kMemcachedLineBytesMax.
inline bool HasLongLine(std::string_view input) {
  size_t line_bytes = 0;
  for (const char byte : input) {
    line_bytes = byte == '\n' ? 0 : line_bytes + 1;
    if (line_bytes > model::kMemcachedLineBytesMax) return true;
  }
  return false;
}

inline void FuzzConnection(uint8_t choice, std::string_view input) {
  model::Limits limits;
  if ((choice & 1) != 0) limits.item_bytes_max = 20;
  TestStore store(1'000'000, limits);
  const auto on_command = [&](std::string_view seen, const Step& step, const Command& command) {
    Require(step.consumed <= seen.size(), "no more is consumed than there is");
    const std::string broken = CheckCommand(seen, limits, command);
    Require(broken.empty(), broken.c_str());
    base::Buffer out;
    store.Execute(command, &out);
    if (command.dialect == Dialect::kBinary) return RequireBinaryReplies(out.view(), command);
    Require(out.empty() || out.view().ends_with("\r\n"), "a reply ends its line");
  };
  const Fed whole = Feed(input, input.size(), limits, false, on_command);
  Require(whole.pending_bytes <= InputBytesMax(limits), "no more is kept than the limit");
  if (HasLongLine(input)) return;
  const size_t piece_bytes = 1 + choice / 4;
  const Fed pieces = Feed(input, piece_bytes, limits, (choice & 2) != 0, [](auto...) {});
  Require(pieces.commands == whole.commands, "commands do not depend on how they were received");
  Require(pieces.closed == whole.closed, "nor does the end");
}

}  // namespace rowsocket::memcached
