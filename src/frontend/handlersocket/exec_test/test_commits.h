// Helpers for tests of what happens while a commit is under way.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "engine/fake/store.h"
#include "exec/test_notification.h"

namespace rowsocket::exec {

/// A request that adds 1 to row `key` of TestPort's table.
inline std::string Add(unsigned key) {
  return "0\t=\t1\t" + std::to_string(key) + "\t1\t0\t+\t0\t1\n";
}

/// Holds the commits of threads that have executed a write until they are let go.
class HeldCommits {
 public:
  explicit HeldCommits(engine::fake::Store& store) : store_(store) {
    store_.SetHook(
        [state = state_](const engine::fake::Call& call) { return OnCall(*state, call); });
  }
  ~HeldCommits() {
    LetGo();
    store_.SetHook({});
  }

  bool AwaitCommit() { return state_->arrived.Wait(); }
  void LetGo() { state_->released.Notify(); }

 private:
  struct State {
    std::mutex mutex;
    std::set<std::thread::id> writers;
    Notification arrived, released;
  };

  static engine::Outcome OnCall(State& state, const engine::fake::Call& call) {
    using engine::fake::Call;
    const std::thread::id self = std::this_thread::get_id();
    std::unique_lock lock(state.mutex);
    if (call.kind == Call::Kind::kExecute && call.request->is_write()) state.writers.insert(self);
    const bool commits_write = call.kind == Call::Kind::kCommit && state.writers.contains(self);
    lock.unlock();
    if (!commits_write) return {};
    state.arrived.Notify();
    state.released.Wait();
    return {};
  }

  engine::fake::Store& store_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rowsocket::exec
