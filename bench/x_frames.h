// Frames of MySQL's X Protocol, and the few rules of protobuf's encoding that they need.
//
// A frame is 4 bytes of length in little endian, which counts the type and the payload, 1 byte of
// type, and the payload, a protobuf message. Source: "X Protocol" in the MySQL Internals Manual;
// the numbers of fields and types: mysqlx*.proto of MySQL Connector/Python 26.10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rowsocket::bench::x {

inline constexpr size_t kFrameHeadBytes = 5;
inline constexpr size_t kVarintBytesMax = 10;

/// Mysqlx.ClientMessages.Type
enum class Request : uint8_t {
  kAuthenticateStart = 4,
  kPrepare = 40,
  kExecute = 41,
};

/// Mysqlx.ServerMessages.Type
enum class Reply : uint8_t {
  kOk = 0,
  kError = 1,
  kAuthenticateOk = 4,
  kNotice = 11,
  kRow = 13,
  kExecuteOk = 17,
};

inline size_t VarintBytes(uint64_t number) {
  size_t bytes = 1;
  while ((number >>= 7) != 0) ++bytes;
  return bytes;
}

inline char* WriteVarint(char* at, uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}

/// Takes a number off the front. False: it is not complete, or longer than a number can be.
inline bool TakeVarint(std::string_view* from, uint64_t* number) {
  *number = 0;
  for (size_t i = 0; i < from->size() && i < kVarintBytesMax; ++i) {
    const auto byte = static_cast<uint8_t>((*from)[i]);
    *number |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      from->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

/// A protobuf message that is being written.
class Message {
 public:
  Message& Number(uint32_t field, uint64_t value) {
    Append(field << 3);
    Append(value);
    return *this;
  }
  Message& Text(uint32_t field, std::string_view text) {
    Append(field << 3 | 2);
    Append(text.size());
    bytes_ += text;
    return *this;
  }
  Message& Inside(uint32_t field, const Message& message) { return Text(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

  std::string Frame(Request type) const;

 private:
  void Append(uint64_t number) {
    char digits[kVarintBytesMax];
    bytes_.append(digits, static_cast<size_t>(WriteVarint(digits, number) - digits));
  }

  std::string bytes_;
};

inline char* WriteFrameHead(char* at, size_t payload_bytes, Request type) {
  const size_t length = payload_bytes + 1;
  for (size_t i = 0; i < 4; ++i) *at++ = static_cast<char>(length >> (8 * i));
  *at++ = static_cast<char>(type);
  return at;
}

inline std::string Message::Frame(Request type) const {
  char head[kFrameHeadBytes];
  WriteFrameHead(head, bytes_.size(), type);
  return std::string(head, kFrameHeadBytes) + bytes_;
}

/// A field of a message that has been received.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;     ///< A number's value.
  std::string_view text;  ///< Bytes, or a message inside.
};

/// Takes a field off the front. False: there is none, or it is of a kind that no reply here has.
inline bool TakeField(std::string_view* from, Field* field) {
  uint64_t tag = 0;
  if (from->empty() || !TakeVarint(from, &tag) || !TakeVarint(from, &field->value)) return false;
  field->number = tag >> 3;
  if ((tag & 7) == 0) return true;
  if ((tag & 7) != 2 || field->value > from->size()) return false;
  field->text = from->substr(0, field->value);
  from->remove_prefix(field->value);
  return true;
}

/// The first field with this number; an empty one if there is none.
inline Field FindField(std::string_view message, uint64_t number) {
  for (Field field; TakeField(&message, &field); field = {}) {
    if (field.number == number) return field;
  }
  return {};
}

struct Frame {
  size_t bytes = 0;  ///< The size of the whole frame; 0: it is not complete.
  Reply type = Reply::kOk;
  std::string_view payload;
};

inline Frame FirstFrame(std::string_view received) {
  if (received.size() < kFrameHeadBytes) return {};
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(received[i])) << (8 * i);
  }
  if (length == 0 || received.size() < 4 + length) return {};
  return {4 + length, static_cast<Reply>(received[4]),
          received.substr(kFrameHeadBytes, length - 1)};
}

}  // namespace rowsocket::bench::x
