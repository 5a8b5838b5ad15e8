// How long a thread has run or has waited for a core. During the rest of its time awake, the thread
// has waited for something else, as a rule the disk.
//
// From /proc/thread-self/schedstat (proc(5): nanoseconds on a core, nanoseconds in a run queue).
// Threads: Open on the thread itself; Us from any thread, even after that one has ended.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowsocket::exec {

class RunTime {
 public:
  RunTime() = default;
  ~RunTime();
  RunTime(const RunTime&) = delete;
  RunTime& operator=(const RunTime&) = delete;

  /// Begins to read the time of the calling thread.
  void Open();
  /// Microseconds since the thread began in which it ran or waited for a core; -1 if the system
  /// does not tell.
  int64_t Us() const;

 private:
  std::atomic<int> fd_{-1};
};

}  // namespace rowsocket::exec
