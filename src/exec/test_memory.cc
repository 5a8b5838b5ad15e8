#include "exec/test_memory.h"

#include <malloc.h>
#include <stdlib.h>

#include <atomic>
#include <new>

namespace {
std::atomic<bool> is_out{false};
std::atomic<long> spare_allocations{0};
thread_local bool is_spared = false;
std::atomic<int64_t> allocated_bytes{0};

void Free(void* memory) {
  allocated_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  free(memory);
}
}  // namespace

// The operators stand in a file of their own: if they are inlined into a caller, the compiler
// takes new and free for a mismatch.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  const bool is_refused = is_out && !is_spared && spare_allocations.fetch_sub(1) <= 0;
  if (is_refused) return nullptr;
  void* const memory = malloc(bytes);
  allocated_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}
void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }

namespace rowsocket::exec {

int64_t AllocatedBytes() { return allocated_bytes; }

OutOfMemory::OutOfMemory(long spare) {
  is_spared = true;
  spare_allocations = spare;
  is_out = true;
}

OutOfMemory::~OutOfMemory() {
  is_out = false;
  is_spared = false;
}

}  // namespace rowsocket::exec
