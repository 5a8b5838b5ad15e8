#include "net/buffer_pool.h"

#include <new>

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
  try {
    kept_.push_back(std::move(taken));
    kept_bytes_ += capacity;
  } catch (const std::bad_alloc&) {  // The buffer is freed instead, because connections also give
                                     // their buffers when they end.
  }
}

// The buffers at the front have been kept longest, because Take and Give work at the back.
void BufferPool::Trim() {
  for (size_t i = 0; i < unused_; ++i) kept_bytes_ -= kept_[i].capacity();
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(unused_));
  unused_ = kept_.size();
}

}  // namespace rowsocket::net
