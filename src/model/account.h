// The account of the server whose rights requests have: what SQL calls 'user'@'host', and its role.
//
// Flow: the code that admits a connection makes an Account, or takes the one that other connections
// have; the connection's frontend keeps it (exec/frontend.h) and puts it into each request
// (Request::account). The engine judges requests by it, in each turn anew, so an Account itself
// holds no rights. End says that the account has changed or is gone: requests of an ended account
// are refused, and its connections are closed.
// Threads: all may read it, any may end it, and one sets the role if that comes later.
// Lifetime: as long as a connection or a port has it. The engine's notes about an account may live
// longer, so they compare ids, and not addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace rowsocket::model {

class Account {
 public:
  Account(std::string user, std::string host, std::string role = {})
      : user_(std::move(user)), host_(std::move(host)), role_(std::move(role)) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// Numbers from 1; no two accounts ever have the same id.
  uint64_t id() const { return id_; }
  /// The names under which the server knows the account, as CURRENT_USER() tells them.
  const std::string& user() const { return user_; }
  const std::string& host() const { return host_; }
  /// Whether the role is known. If not, requests of the account cannot be judged yet.
  bool knows_role() const { return knows_role_.load(std::memory_order_acquire); }
  /// The role that is set; empty: none. REQUIRES: knows_role().
  const std::string& role() const { return role_; }

  /// Makes the role unknown until SetRole. REQUIRES: no other thread has the account yet.
  void AwaitRole() { knows_role_.store(false, std::memory_order_relaxed); }
  /// Sets the role that was awaited. REQUIRES: AwaitRole was called, and SetRole was not.
  void SetRole(std::string role) {
    role_ = std::move(role);
    knows_role_.store(true, std::memory_order_release);
  }

  bool ended() const { return ended_.load(std::memory_order_acquire); }
  void End() const { ended_.store(true, std::memory_order_release); }

 private:
  static uint64_t NextId() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const uint64_t id_ = NextId();
  const std::string user_;
  const std::string host_;
  std::string role_;  ///< Does not change once knows_role_ is true.
  std::atomic<bool> knows_role_{true};
  mutable std::atomic<bool> ended_{false};
};

}  // namespace rowsocket::model
