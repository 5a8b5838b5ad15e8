// Takes the memory away from all threads but the test's, and counts what is held: an operator new
// that fails on demand replaces the standard one, in every test of the executable.
#pragma once

#include <cstdint>

namespace rowsocket::exec {

/// The bytes that all threads hold of what operator new has given them.
int64_t AllocatedBytes();

/// While it exists, only the thread that has made it gets memory. All other threads together get
/// memory `spare` times more.
class OutOfMemory {
 public:
  explicit OutOfMemory(long spare = 0);
  ~OutOfMemory();
  OutOfMemory(const OutOfMemory&) = delete;
  OutOfMemory& operator=(const OutOfMemory&) = delete;
};

}  // namespace rowsocket::exec
