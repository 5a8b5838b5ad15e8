// Turns a text command line into the command that it asks for; the data block behind it is
// parser.h's.
//
// Flow: ParseLine splits the line at its blanks; classic commands are parsed there, those that
// begin with m by ParseMeta (meta.cc). Lifetime: a Command's views point into the line or the
// arena.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/arena.h"
#include "model/limits.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

/// The tokens of a line: what stands between blanks.
struct Tokens {
  static constexpr size_t kKeptMax = model::kMetaTokensMax;

  explicit Tokens(std::string_view line);

  std::string_view operator[](size_t i) const { return first[i]; }

  std::array<std::string_view, kKeptMax> first;  ///< The first ones; see `count`.
  std::string_view last;
  size_t count = 0;  ///< Of all tokens; may be more than kKeptMax.
};

/// What follows the command line.
struct DataBlock {
  bool follows = false;
  uint64_t bytes = 0;  ///< Without its CR LF; up to kDataBlockBytesMax.
};

/// The longest data block that a line may announce; a longer one is no number of bytes at all.
inline constexpr uint64_t kDataBlockBytesMax = 0x7fffffff - 2;

/// Parses a line without its end. Returns false for what is not memcached's protocol (HTTP).
/// A line with an error may be followed by a data block, too: one that is to be swallowed.
bool ParseLine(std::string_view line, base::Arena& arena, Command* command, DataBlock* data);

/// Parses mn, mg, ms, md, ma, me. Returns false when the verb is none of these.
bool ParseMeta(const Tokens& tokens, base::Arena& arena, Command* command, DataBlock* data);

/// Sets a command's only key, if it may be one; else the error.
void SetKey(std::string_view key, base::Arena& arena, Command* command);

/// Reads the length of a data block; if it is none, that is the command's error.
void SetDataBlock(std::string_view token, Command* command, DataBlock* data);

}  // namespace rowsocket::memcached
