#include "engine/fake/locks.h"

#include <chrono>
#include <utility>

namespace rowsocket::engine::fake {

namespace {

/// Far longer than anything in a test takes.
constexpr std::chrono::seconds kTestTimeout{20};

}  // namespace

Locks::Granted Locks::Take(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms) {
  std::unique_lock lock(mutex_);
  const Granted granted = WaitUntilFree(lock, owner, name, wait, wait_ms);
  if (granted == Granted::kYes) locks_[name].owner = &owner;
  return granted;
}

Locks::Granted Locks::Pass(Owner& owner, const std::string& name, LockWait wait, int64_t wait_ms) {
  std::unique_lock lock(mutex_);
  return WaitUntilFree(lock, owner, name, wait, wait_ms);
}

void Locks::Delay(Owner& owner, const std::string& name) {
  std::lock_guard lock(mutex_);
  locks_[name] = {&owner, true};
}

void Locks::Release(Owner& owner) {
  std::lock_guard lock(mutex_);
  std::erase_if(locks_, [&owner](const auto& entry) { return entry.second.owner == &owner; });
  changed_.notify_all();
}

bool Locks::IsTaken(const Owner& owner, const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = locks_.find(name);
  return found != locks_.end() && found->second.owner == &owner;
}

void Locks::Interrupt(Owner& owner) {
  std::lock_guard lock(mutex_);
  owner.interrupted = true;
  changed_.notify_all();
}

bool Locks::ForgetInterrupt(Owner& owner) {
  std::lock_guard lock(mutex_);
  return std::exchange(owner.interrupted, false);
}

bool Locks::AwaitWaiting(unsigned count) const {
  std::unique_lock lock(mutex_);
  return arrived_.wait_for(lock, kTestTimeout, [&] { return waiting_ >= count; });
}

Locks::Granted Locks::WaitUntilFree(std::unique_lock<std::mutex>& lock, Owner& owner,
                                    const std::string& name, LockWait wait, int64_t wait_ms) {
  if (IsFree(owner, name)) return Granted::kYes;
  if (wait == LockWait::kNever && !Delays(name)) return Granted::kHeld;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  const auto ended = [&] { return IsFree(owner, name) || owner.interrupted; };
  ++waiting_;
  arrived_.notify_all();
  if (Delays(name))
    changed_.wait(lock, ended);
  else
    changed_.wait_until(lock, until, ended);
  --waiting_;
  if (IsFree(owner, name)) return Granted::kYes;
  return owner.interrupted ? Granted::kInterrupted : Granted::kTimedOut;
}

bool Locks::IsFree(const Owner& owner, const std::string& name) const {
  const auto found = locks_.find(name);
  return found == locks_.end() || found->second.owner == &owner;
}

bool Locks::Delays(const std::string& name) const { return locks_.at(name).delays; }

}  // namespace rowsocket::engine::fake
