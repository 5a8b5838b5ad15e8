// An event that a test waits for, with a deadline far longer than the event takes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace rowsocket::exec {

class Notification {
 public:
  void Notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  /// False when the event did not come in time.
  bool Wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return notified_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;
};

}  // namespace rowsocket::exec
