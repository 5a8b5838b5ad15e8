// Counts the allocations of the tests of this folder, and refuses them on demand: an operator new
// that does so replaces the standard one.
#pragma once

#include <cstddef>

namespace rowsocket::net {

/// Allocations of the calling thread so far.
size_t AllocationCount();

/// While it exists, the thread that has made it gets no memory.
class NoAllocations {
 public:
  NoAllocations();
  ~NoAllocations();
  NoAllocations(const NoAllocations&) = delete;
  NoAllocations& operator=(const NoAllocations&) = delete;
};

}  // namespace rowsocket::net
