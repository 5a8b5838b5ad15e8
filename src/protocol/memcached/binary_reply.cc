#include "protocol/memcached/binary_reply.h"

#include "protocol/memcached/binary.h"
#include "protocol/memcached/numbers.h"

namespace rowsocket::memcached {

void AppendBinary(const Command& command, const BinaryReply& reply, base::Buffer* out) {
  const size_t body_bytes = reply.extras.size() + reply.key.size() + reply.value.size();
  char* to = out->Room(kHeaderBytes + body_bytes);
  *to++ = kResponseMagic;
  *to++ = static_cast<char>(command.opcode);
  to = StoreBigEndian(static_cast<uint16_t>(reply.key.size()), to);
  *to++ = static_cast<char>(reply.extras.size());
  *to++ = '\0';  // The data type: raw bytes.
  to = StoreBigEndian(static_cast<uint16_t>(reply.status), to);
  to = StoreBigEndian(static_cast<uint32_t>(body_bytes), to);
  to = StoreBigEndian(command.opaque, to);
  StoreBigEndian(reply.cas, to);
  out->Commit(kHeaderBytes);
  out->Append(reply.extras);
  out->Append(reply.key);
  out->Append(reply.value);
}

void AppendBinaryStatus(const Command& command, BinaryStatus status, base::Buffer* out) {
  BinaryReply reply;
  reply.status = status;
  reply.value = TextOf(status);
  AppendBinary(command, reply, out);
}

void AppendBinaryItem(const Command& command, uint32_t client_flags, BinaryReply reply,
                      base::Buffer* out) {
  char extras[sizeof(client_flags)];
  StoreBigEndian(client_flags, extras);
  reply.extras = {extras, sizeof(extras)};
  AppendBinary(command, reply, out);
}

void AppendBinaryNumber(const Command& command, uint64_t number, uint64_t cas, base::Buffer* out) {
  char bytes[sizeof(number)];
  StoreBigEndian(number, bytes);
  BinaryReply reply;
  reply.cas = cas;
  reply.value = {bytes, sizeof(bytes)};
  AppendBinary(command, reply, out);
}

}  // namespace rowsocket::memcached
