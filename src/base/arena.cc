#include "base/arena.h"

#include <algorithm>

namespace rowsocket::base {

char* Arena::AllocateInNewBlock(size_t bytes) {
  const size_t size = std::max(kBlockBytes, bytes);
  blocks_.push_back({std::unique_ptr<char[]>(new char[size]), size});
  current_ = blocks_.back().data.get();
  current_size_ = size;
  used_ = bytes;
  allocated_bytes_ += size;
  return current_;
}

void Arena::Reset() {
  if (blocks_.empty()) return;
  blocks_.resize(blocks_[0].size == kBlockBytes ? 1 : 0);
  current_ = blocks_.empty() ? nullptr : blocks_[0].data.get();
  current_size_ = allocated_bytes_ = blocks_.empty() ? 0 : kBlockBytes;
  used_ = 0;
}

}  // namespace rowsocket::base
