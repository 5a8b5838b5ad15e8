// Requests and replies of the binary dialect, written by hand. For tests.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

template <typename T>
std::string BigEndian(T number) {
  std::string bytes(sizeof(T), '\0');
  StoreBigEndian(number, bytes.data());
  return bytes;
}

struct Packet {
  uint8_t opcode = 0;
  std::string key = "";
  std::string extras = "";
  std::string value = "";
  uint64_t cas = 0;
  uint32_t opaque = 0x01020304;
  uint16_t status = 0;  ///< Set in replies.
  char magic = '\x80';

  std::string Bytes() const {
    const size_t body_bytes = extras.size() + key.size() + value.size();
    return std::string(1, magic) + static_cast<char>(opcode) +
           BigEndian(static_cast<uint16_t>(key.size())) + static_cast<char>(extras.size()) + '\0' +
           BigEndian(status) + BigEndian(static_cast<uint32_t>(body_bytes)) + BigEndian(opaque) +
           BigEndian(cas) + extras + key + value;
  }
};

}  // namespace rowsocket::memcached
