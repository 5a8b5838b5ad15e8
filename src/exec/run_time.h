// How long a thread has run, or could have if it had had a core: what it was awake beyond that it
// has waited for something else, the disk as a rule.
//
// From /proc/thread-self/schedstat (proc(5): nanoseconds on a core, nanoseconds in a run queue).
// Threads: Open on the thread itself; Us from any, also when it has ended.
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

  void Open();
  /// Since the thread began; -1 where it is not known.
  int64_t Us() const;

 private:
  std::atomic<int> fd_{-1};
};

}  // namespace rowsocket::exec
