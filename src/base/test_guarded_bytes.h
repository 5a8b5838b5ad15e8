// Bytes that end where a page that cannot be read begins: code that reads past its input crashes.
// For tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace rowsocket::base {

class GuardedBytes {
 public:
  explicit GuardedBytes(size_t bytes_max) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    usable_ = (bytes_max + page - 1) / page * page + page;
    mapped_ = usable_ + page;
    void* const memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    begin_ = static_cast<char*>(memory);
    if (mprotect(begin_ + usable_, page, PROT_NONE) != 0) std::abort();
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(begin_, mapped_); }

  /// A copy of `bytes` that ends at the guard page; valid until the next Place.
  std::string_view Place(std::string_view bytes) {
    if (bytes.size() > usable_) std::abort();
    char* const to = begin_ + usable_ - bytes.size();
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return {to, bytes.size()};
  }

 private:
  char* begin_ = nullptr;
  size_t usable_ = 0;
  size_t mapped_ = 0;
};

}  // namespace rowsocket::base
