// The binary dialect's requests: a header of 24 bytes, then extras, key and value.
//
// Flow: ParseHeader; StartBinary decides only by the header whether the command may be executed;
// when its whole body has come, FinishBinary fills in the rest.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/arena.h"
#include "model/limits.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

inline constexpr char kRequestMagic = '\x80';
inline constexpr char kResponseMagic = '\x81';
inline constexpr size_t kHeaderBytes = 24;

enum class Opcode : uint8_t {
  kGet = 0x00,
  kSet = 0x01,
  kAdd = 0x02,
  kReplace = 0x03,
  kDelete = 0x04,
  kIncrement = 0x05,
  kDecrement = 0x06,
  kQuit = 0x07,
  kFlush = 0x08,
  kGetQ = 0x09,
  kNoop = 0x0a,
  kVersion = 0x0b,
  kGetK = 0x0c,
  kGetKQ = 0x0d,
  kAppend = 0x0e,
  kPrepend = 0x0f,
  kStat = 0x10,
  kSetQ = 0x11,
  kAddQ = 0x12,
  kReplaceQ = 0x13,
  kDeleteQ = 0x14,
  kIncrementQ = 0x15,
  kDecrementQ = 0x16,
  kQuitQ = 0x17,
  kFlushQ = 0x18,
  kAppendQ = 0x19,
  kPrependQ = 0x1a,
  kTouch = 0x1c,
  kGat = 0x1d,
  kGatQ = 0x1e,
  kHello = 0x1f,  ///< Couchbase's opcode, and not memcached's: a client says who it is.
  kGatK = 0x23,
  kGatKQ = 0x24,
};

struct BinaryHeader {
  uint8_t opcode = 0;
  uint8_t extras_bytes = 0;
  uint16_t key_bytes = 0;
  uint32_t body_bytes = 0;  ///< Bytes of extras, key and value in all.
  uint32_t opaque = 0;
  uint64_t cas = 0;
};

/// Reads a header. REQUIRES: kHeaderBytes bytes that begin with kRequestMagic.
BinaryHeader ParseHeader(std::string_view bytes);

/// Begins the command. Returns false when the command has an error: it then either closes, or has a
/// body to skip. True: header.body_bytes is within the limits.
bool StartBinary(const BinaryHeader& header, const model::Limits& limits, Command* command);

/// Fills in the rest of the command. REQUIRES: StartBinary returned true, and `body` is all of the
/// body.
void FinishBinary(const BinaryHeader& header, std::string_view body, base::Arena& arena,
                  Command* command);

}  // namespace rowsocket::memcached
