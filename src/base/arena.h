// Memory for the views of one turn: grows by blocks, freed all at once and kept for the next turn.
//
// Threads: one owner.
// Lifetime: everything allocated is valid until Reset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rowsocket::base {

class Arena {
 public:
  char* AllocateBytes(size_t bytes, size_t alignment = 1) {
    const size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (start + bytes > current_size_) return AllocateInNewBlock(bytes);
    used_ = start + bytes;
    return current_ + start;
  }

  /// `count` value-initialized elements.
  template <typename T>
  std::span<T> Allocate(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = reinterpret_cast<T*>(AllocateBytes(count * sizeof(T), alignof(T)));
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    return {first, count};
  }

  /// A copy of the text.
  std::string_view Copy(std::string_view text) {
    char* const copy = AllocateBytes(text.size());
    text.copy(copy, text.size());
    return {copy, text.size()};
  }

  /// Forgets all allocations; keeps one block of ordinary size.
  void Reset();

  /// Memory taken from the system since the last Reset, the kept block included.
  size_t allocated_bytes() const { return allocated_bytes_; }

 private:
  static constexpr size_t kBlockBytes = 16 * 1024;

  char* AllocateInNewBlock(size_t bytes);

  struct Block {
    std::unique_ptr<char[]> data;
    size_t size;
  };
  std::vector<Block> blocks_;
  char* current_ = nullptr;
  size_t current_size_ = 0;
  size_t used_ = 0;
  size_t allocated_bytes_ = 0;
};

}  // namespace rowsocket::base
