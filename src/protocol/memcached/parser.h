// Takes memcached requests off the front of the bytes that a connection has received.
//
// Flow: receive; Next until it says kNeedMore; receive more. The first byte of a connection chooses
// the dialect: 0x80 is binary, any other byte is text, which includes meta.
//
// A pure function over bytes and a few numbers of state: no I/O, no server, no exceptions, and no
// memory except the arena's. Each byte is looked at once while a line is incomplete, and a data
// block is not looked at before it is complete, however slowly the bytes come.
//
// Threads: one owner, the connection.
// Lifetime: a Command's views point into the input that it was found in, or into the arena.
// Limits (model/limits.h): Limits::item_bytes_max, kMemcachedKeyBytesMax, kMemcachedLineBytesMax,
//                          kMemcachedLongLineBytesMax.
// Errors: a wrong command is a Command with an `error`, which is answered in its turn. If its data
// block has a readable length, the block is swallowed, so that the next command is found: the bytes
// that came with the command go at once, the rest by itself, so that every command begins in a
// fresh state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/arena.h"
#include "model/limits.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

enum class ParseResult : uint8_t {
  kCommand,   ///< `command` is complete.
  kNeedMore,  ///< No complete command in this input.
  kSkipped,   ///< The rest of a swallowed data block; the bytes after it are not parsed yet.
  /// The bytes are not memcached's protocol: close, with no answer. `command` is a quiet kQuit that
  /// closes, so that the caller may treat kMalformed as kCommand.
  kMalformed,
};

struct Step {
  ParseResult result = ParseResult::kNeedMore;
  /// Bytes at the front of the input that the next call must not get again. Also more than 0 with
  /// kNeedMore, because swallowed data is not kept.
  size_t consumed = 0;
};

struct BinaryHeader;

class Parser {
 public:
  /// `input` has the bytes that are received and not consumed; between two calls it loses the
  /// consumed bytes at its front, may grow at its end, and may move in memory. After a command that
  /// closes, no bytes are parsed: all input counts as consumed.
  Step Next(std::string_view input, const model::Limits& limits, base::Arena& arena,
            Command* command);

  /// Forgets the last call of Next with input that has returned kCommand: the caller will give that
  /// command again. It may also give an earlier command again, unless this one leaves_swallowing().
  /// Rewind also forgets what was noted about the bytes of an incomplete command, which may be
  /// answered elsewhere and never come again. The dialect stays.
  void Rewind() {
    state_.scanned = state_.needs_bytes = 0;
    state_.swallows = swallows_before_;
  }

  /// After kCommand: whether the command has bytes that have yet to come, after all of the input,
  /// and are not kept.
  bool leaves_swallowing() const { return state_.swallows != 0; }

  /// Whether the next byte of input begins a command, or is the first of one that is incomplete.
  bool may_begin() const { return state_.swallows == 0; }

  /// Whether the connection has chosen the binary dialect.
  bool is_binary() const { return state_.chosen == Chosen::kBinary; }

 private:
  enum class Chosen : uint8_t { kNotYet, kText, kBinary };

  struct State {
    Chosen chosen = Chosen::kNotYet;
    size_t scanned = 0;      ///< Text: bytes at the front of the input that hold no LF.
    size_t needs_bytes = 0;  ///< The input has no complete command until it has this many bytes.
    uint64_t swallows = 0;   ///< Bytes at the front that are to be thrown away.
  };

  Step NextText(std::string_view input, const model::Limits& limits, base::Arena& arena,
                Command* command);
  Step NextWithoutLine(std::string_view input, Command* command);
  /// Takes a command of `front_bytes`, which is followed by `bytes` bytes that are not kept.
  Step Swallow(size_t front_bytes, uint64_t bytes, std::string_view input);
  Step TakeKeyOfTooLarge(const BinaryHeader& header, std::string_view input, base::Arena& arena,
                         Command* command);
  Step NextBinary(std::string_view input, const model::Limits& limits, base::Arena& arena,
                  Command* command);

  State state_;
  uint64_t swallows_before_ = 0;  ///< `swallows` as the last call of Next with input found it.
};

/// The number of bytes of input that Next may need to see at once.
size_t InputBytesMax(const model::Limits& limits);

}  // namespace rowsocket::memcached
