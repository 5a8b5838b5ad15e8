// Replies in the binary dialect: a header of 24 bytes, then extras, key and value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

/// The parts of a reply besides the request's opcode and opaque.
struct BinaryReply {
  BinaryStatus status = BinaryStatus::kOk;
  uint64_t cas = 0;
  std::string_view extras;
  std::string_view key;
  std::string_view value;
};

void AppendBinary(const Command& command, const BinaryReply& reply, base::Buffer* out);
/// Appends a reply with the status and memcached's text for it.
void AppendBinaryStatus(const Command& command, BinaryStatus status, base::Buffer* out);
/// Appends a reply that has the client flags as extras.
void AppendBinaryItem(const Command& command, uint32_t client_flags, BinaryReply reply,
                      base::Buffer* out);
void AppendBinaryNumber(const Command& command, uint64_t number, uint64_t cas, base::Buffer* out);

}  // namespace rowsocket::memcached
