// Logins with accounts of the server. They are not checked in MySQL yet: nobody gets in, and a port
// that asks for them does not open (WhyNoLogins).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/login.h"

namespace rowsocket::engine::server {

inline std::string WhyNoLogins() {
  return "rowsocket.so does not check logins with accounts in MySQL yet; set the variable to OFF";
}

class ServerLogins final : public LoginChecker {
 public:
  void Enter() override {}
  void Leave() override {}
  Login Check(const LoginAttempt&) override { return {}; }
  void End(std::unique_ptr<LoginTicket>) override {}
  bool Watch(std::function<void()>) override { return true; }
  void StopWatching() {}
};

}  // namespace rowsocket::engine::server
