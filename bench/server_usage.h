// The resources that the server's process has used so far, from the kernel's accounting in /proc.
//
// Flow: Read at the beginning and at the end of the measured time; the difference is the run's
//       usage.
// Threads: pure functions.
// Limits: threads are looked at one by one while there are at most kThreadsMax; the cost of looking
//         at more threads would show in the measurements.
// Errors: `known` is false when there is no such process or /proc may not be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace rowsocket::bench {

struct ThreadUsage {
  std::string name;
  double user_s = 0;
  double sys_s = 0;
};

struct ServerUsage {
  static constexpr size_t kThreadsMax = 256;

  bool known = false;
  double user_s = 0;
  double sys_s = 0;
  double on_cpu_s = 0;  ///< Exact to the nanosecond, while user_s and sys_s count ticks.
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  uint64_t read_bytes = 0;     ///< Bytes read from block devices.
  uint64_t written_bytes = 0;  ///< Bytes written to block devices.
  uint64_t read_calls = 0;
  uint64_t write_calls = 0;
  uint64_t resident_kb = 0;
  size_t thread_count = 0;
  /// The threads by id; empty with more than kThreadsMax threads.
  std::map<int, ThreadUsage> threads;
};

ServerUsage ReadServerUsage(int pid);

}  // namespace rowsocket::bench
