// A LoginChecker for tests. It knows one account, lets a test hold its checks up, and counts them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/login.h"

namespace rowsocket::exec {

class TestLogins final : public engine::LoginChecker {
 public:
  static constexpr const char* kUser = "app";
  static constexpr const char* kPassword = "secret:1";

  void Enter() override { ++threads; }
  void Leave() override { --threads; }
  engine::Login Check(const engine::LoginAttempt& attempt) override {
    ++checks;
    if (on_check) on_check(attempt);
    engine::Login login;
    if (attempt.user != kUser || attempt.password.view() != kPassword) return login;
    login.account = account;
    login.ticket = std::make_unique<engine::LoginTicket>();
    ++tickets;
    return login;
  }
  void End(std::unique_ptr<engine::LoginTicket>) override { --tickets; }
  bool Watch(std::function<void()>) override { return true; }

  std::shared_ptr<const model::Account> account =
      std::make_shared<const model::Account>(kUser, "localhost");
  std::function<void(const engine::LoginAttempt&)> on_check;
  std::atomic<int> threads{0};
  std::atomic<int> checks{0};
  std::atomic<int> tickets{0};
};

}  // namespace rowsocket::exec
