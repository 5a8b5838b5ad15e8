#include "base/buffer.h"

#include <algorithm>

namespace rowsocket::base {

namespace {
constexpr size_t kSmallestBytes = 512;
/// A block of up to this size is wiped when a larger block replaces it, because it may hold the
/// beginning of a password. A client that has yet to log in has no larger block.
constexpr size_t kWipedBytesMax = 8192;
}  // namespace

void Buffer::MakeRoom(size_t bytes) {
  const size_t used = size();
  // Moving the content to the front is enough when that frees half of the space or more; otherwise
  // the space doubles, so that appending stays linear.
  if (capacity_ >= 2 * used && capacity_ - used >= bytes) {
    std::memmove(data_.get(), data_.get() + begin_, used);
  } else {
    const size_t wanted = std::max({kSmallestBytes, 2 * capacity_, used + bytes});
    std::unique_ptr<char[]> larger(new char[wanted]);
    if (used != 0) std::memcpy(larger.get(), data_.get() + begin_, used);
    if (used != 0 && capacity_ <= kWipedBytesMax) explicit_bzero(data_.get() + begin_, used);
    data_ = std::move(larger);
    capacity_ = wanted;
  }
  begin_ = 0;
  end_ = used;
}

}  // namespace rowsocket::base
