// Turns a text command line into the command that it asks for; parser.h takes the data block after
// the line.
//
// Flow: ParseLine splits the line at its blanks; classic commands are parsed there, commands that
// begin with m by ParseMeta (meta.cc).
// Lifetime: a Command's views point into the line or the arena.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/arena.h"
#include "model/limits.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

/// The first words of a line, which blanks separate, and the last one.
struct FirstWords {
  static constexpr size_t kKeptMax = model::kMetaWordsMax;

  explicit FirstWords(std::string_view line);

  std::string_view operator[](size_t i) const { return first[i]; }

  std::array<std::string_view, kKeptMax> first;  ///< The first words; see `count`.
  std::string_view last;
  size_t count = 0;  ///< The number of all words; may be more than kKeptMax.
};

/// The data block that follows a command line.
struct DataBlock {
  bool follows = false;
  uint64_t bytes = 0;  ///< The bytes without CR LF; up to kDataBlockBytesMax.
};

/// The longest data block that a line may announce; a larger number is not taken for a length.
inline constexpr uint64_t kDataBlockBytesMax = 0x7fffffff - 2;

/// Parses a line without its end. Returns false for a line that is not memcached's protocol (HTTP).
/// A line with an error may have a data block, too, which the parser swallows.
bool ParseLine(std::string_view line, base::Arena& arena, Command* command, DataBlock* data);

/// Parses mn, mg, ms, md, ma, me. Returns false when the verb is none of these.
bool ParseMeta(const FirstWords& words, base::Arena& arena, Command* command, DataBlock* data);

/// Sets the only key of a command, or the command's error if the key is not allowed.
void SetKey(std::string_view key, base::Arena& arena, Command* command);

/// Reads the length of a data block; a word that is no length gives the command an error.
void SetDataBlock(std::string_view word, Command* command, DataBlock* data);

}  // namespace rowsocket::memcached
