// Takes the memory away from all threads but the test's: an operator new that fails on demand
// replaces the standard one, in every test of the executable.
#pragma once

namespace rowsocket::exec {

/// While it exists, only the thread that has made it gets memory.
class OutOfMemory {
 public:
  OutOfMemory();
  ~OutOfMemory();
  OutOfMemory(const OutOfMemory&) = delete;
  OutOfMemory& operator=(const OutOfMemory&) = delete;
};

}  // namespace rowsocket::exec
