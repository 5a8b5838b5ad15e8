// A growable run of bytes whose front is cheap to drop: connections receive into it and send from
// it.
//
// Threads: none of its own; one owner at a time.
// Lifetime: views into it stay valid until the next call that appends, makes room or consumes.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/require.h"

namespace rowsocket::base {

class Buffer {
 public:
  Buffer() = default;
  /// A Buffer that was moved from is empty and owns nothing.
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    begin_ = std::exchange(other.begin_, 0);
    end_ = std::exchange(other.end_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  size_t capacity() const { return capacity_; }

  void Append(std::string_view bytes) {
    // A null pointer must not be given to memcpy, not even for zero bytes.
    if (bytes.empty()) return;
    std::memcpy(Room(bytes.size()), bytes.data(), bytes.size());
    end_ += bytes.size();
  }
  void Append(char byte) {
    *Room(1) = byte;
    ++end_;
  }

  /// At least `bytes` of writable space at the end; Commit says how much of it was used.
  char* Room(size_t bytes) {
    if (capacity_ - end_ < bytes) MakeRoom(bytes);
    return data_.get() + end_;
  }
  size_t room() const { return capacity_ - end_; }
  /// Counts the first `bytes` of the room as content. REQUIRES: bytes <= room().
  void Commit(size_t bytes) {
    ROWSOCKET_REQUIRE(bytes <= room());
    end_ += bytes;
  }

  /// Drops `bytes` from the front. REQUIRES: bytes <= size().
  void Consume(size_t bytes) {
    ROWSOCKET_REQUIRE(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  /// Cuts the content down to its first `size` bytes. REQUIRES: size <= size().
  void Truncate(size_t size) {
    ROWSOCKET_REQUIRE(begin_ + size <= end_);
    end_ = begin_ + size;
  }

  /// Wipes the memory that no longer holds content, or does not hold any yet.
  void WipeUnused() {
    if (begin_ != 0) explicit_bzero(data_.get(), begin_);
    if (end_ != capacity_) explicit_bzero(data_.get() + end_, capacity_ - end_);
  }

  /// Gives the memory back; the content is lost.
  void Release() {
    data_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  void MakeRoom(size_t bytes);

  std::unique_ptr<char[]> data_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t capacity_ = 0;
};

}  // namespace rowsocket::base
