// What the server keeps for each thread that calls its functions.
//
// Threads: the thread that makes the object also destroys it, after all other calls of the server's
// functions.
#pragma once

#include <chrono>
#include <thread>

#include "api.h"

namespace rowsocket::engine::server {

class ThreadData {
 public:
  /// Waits until the server has memory for the thread.
  ThreadData() {
    while (my_thread_init()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ~ThreadData() { my_thread_end(); }
  ThreadData(const ThreadData&) = delete;
  ThreadData& operator=(const ThreadData&) = delete;
};

}  // namespace rowsocket::engine::server
