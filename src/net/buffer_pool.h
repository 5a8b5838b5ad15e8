// Buffers for the connections that are busy at the moment, so that an idle connection needs none
// and a busy one allocates none.
//
// Threads: one owner (one pool a worker).
// Limits: the pool keeps kKeptBytesMax bytes that no connection uses, and frees the rest.
// Errors: Take may throw std::bad_alloc; Give frees the buffer if there is no memory to keep it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/buffer.h"

namespace rowsocket::net {

class BufferPool {
 public:
  /// Capacity of a fresh buffer.
  static constexpr size_t kBufferBytes = 4096;
  /// A buffer that has grown beyond this is freed instead of kept.
  static constexpr size_t kBufferBytesMax = 64 * 1024;
  /// Enough for 4,096 connections in turns and batches with both buffers.
  static constexpr size_t kKeptBytesMax = 32u << 20;

  /// An empty buffer of at least kBufferBytes.
  base::Buffer Take() {
    if (kept_.empty()) return Fresh();
    base::Buffer buffer = std::move(kept_.back());
    kept_.pop_back();
    kept_bytes_ -= buffer.capacity();
    unused_ = std::min(unused_, kept_.size());
    return buffer;
  }

  /// Takes the memory of `buffer`, which is then empty and owns nothing.
  void Give(base::Buffer& buffer);

  /// Frees the buffers that were not used since the last Trim. The owner calls it now and then.
  void Trim();

  size_t kept_bytes() const { return kept_bytes_; }

 private:
  static base::Buffer Fresh();

  std::vector<base::Buffer> kept_;  ///< Last in, first out: the warmest memory is used again first.
  size_t kept_bytes_ = 0;
  size_t unused_ = 0;  ///< The smallest number of kept buffers since the last Trim.
};

}  // namespace rowsocket::net
