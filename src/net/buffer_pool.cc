#include "net/buffer_pool.h"

namespace rowsocket::net {

base::Buffer BufferPool::Fresh() {
  base::Buffer buffer;
  buffer.Room(kBufferBytes);
  return buffer;
}

void BufferPool::Give(base::Buffer& buffer) {
  base::Buffer taken = std::move(buffer);
  buffer = base::Buffer();
  const size_t capacity = taken.capacity();
  if (capacity < kBufferBytes || capacity > kBufferBytesMax) return;
  if (kept_bytes_ + capacity > kKeptBytesMax) return;
  taken.Consume(taken.size());
  kept_bytes_ += capacity;
  kept_.push_back(std::move(taken));
}

}  // namespace rowsocket::net
