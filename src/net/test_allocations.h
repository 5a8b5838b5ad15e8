// Counts the allocations of the tests of this folder: an operator new that counts replaces the
// standard one.
#pragma once

#include <cstddef>

namespace rowsocket::net {

/// Allocations of the calling thread so far.
size_t AllocationCount();

}  // namespace rowsocket::net
