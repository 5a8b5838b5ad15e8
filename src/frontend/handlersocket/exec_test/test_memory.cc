#include "frontend/handlersocket/exec_test/test_memory.h"

#include <stdlib.h>

#include <atomic>
#include <new>

namespace {
std::atomic<bool> is_out{false};
thread_local bool is_spared = false;
}  // namespace

// The operators stand in a file of their own: where they are inlined into a caller, the compiler
// takes new and free for a mismatch.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return is_out && !is_spared ? nullptr : malloc(bytes);
}
void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace rowsocket::exec {

OutOfMemory::OutOfMemory() {
  is_spared = true;
  is_out = true;
}

OutOfMemory::~OutOfMemory() {
  is_out = false;
  is_spared = false;
}

}  // namespace rowsocket::exec
