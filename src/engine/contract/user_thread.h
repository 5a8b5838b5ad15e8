// A thread that owns one session of an engine, for tests that need several sessions at once: a
// session belongs to one thread.
//
// Flow: Run executes a function on the thread and waits for its result; Start does not wait.
// Threads: one user, whose calls are carried out in their order.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace rowsocket::engine::contract {

class UserThread {
 public:
  UserThread() : thread_([this] { Loop(); }) {}
  /// Waits for all calls that were started.
  ~UserThread() {
    Post({});
    thread_.join();
  }
  UserThread(const UserThread&) = delete;
  UserThread& operator=(const UserThread&) = delete;

  template <typename Function>
  auto Start(Function function) {
    using Result = decltype(function());
    auto task = std::make_shared<std::packaged_task<Result()>>(std::move(function));
    std::future<Result> result = task->get_future();
    Post([task] { (*task)(); });
    return result;
  }
  template <typename Function>
  auto Run(Function function) {
    return Start(std::move(function)).get();
  }

 private:
  using Task = std::function<void()>;

  void Post(Task task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push(std::move(task));
    }
    posted_.notify_one();
  }
  /// Ends with the first empty task.
  void Loop() {
    for (;;) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !tasks_.empty(); });
      const Task task = std::move(tasks_.front());
      tasks_.pop();
      lock.unlock();
      if (!task) return;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable posted_;
  std::queue<Task> tasks_;  ///< Guarded by mutex_.
  std::thread thread_;      ///< last, since the thread uses the other members
};

}  // namespace rowsocket::engine::contract
