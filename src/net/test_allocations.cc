#include "net/test_allocations.h"

#include <stdlib.h>

#include <new>

namespace {
thread_local size_t allocation_count = 0;
thread_local bool is_refused = false;
}  // namespace

// The operators are in a file of their own: if they were inlined into a caller, the compiler would
// take new and free for a mismatch.
void* operator new(size_t bytes) {
  ++allocation_count;
  if (void* memory = is_refused ? nullptr : malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// Without this one the library's own would take memory that the delete below frees.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocation_count;
  return is_refused ? nullptr : malloc(bytes);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace rowsocket::net {

size_t AllocationCount() { return allocation_count; }

NoAllocations::NoAllocations() { is_refused = true; }

NoAllocations::~NoAllocations() { is_refused = false; }

}  // namespace rowsocket::net
