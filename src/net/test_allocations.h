// Counts what the tests of this folder allocate: operator new is replaced by one that counts.
#pragma once

#include <cstddef>

namespace rowsocket::net {

/// Allocations of the calling thread so far.
size_t AllocationCount();

}  // namespace rowsocket::net
