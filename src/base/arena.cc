#include "base/arena.h"

#include <algorithm>

namespace rowsocket::base {

char* Arena::AllocateInNewBlock(size_t bytes) {
  const size_t size = std::max(kBlockBytes, bytes);
  blocks_.push_back({std::unique_ptr<char[]>(new char[size]), size});
  current_ = blocks_.back().data.get();
  current_size_ = size;
  used_ = bytes;
  return current_;
}

void Arena::Reset() {
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) blocks_.resize(1);
  current_ = blocks_[0].data.get();
  current_size_ = blocks_[0].size;
  used_ = 0;
}

}  // namespace rowsocket::base
