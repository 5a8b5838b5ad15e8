// LoginPackets in the place of a connection, for the server's functions of authentication. Each
// family of servers has its own login_vio.cc, which says which plugins are answered, and how.
//
// Flow: the THD's net gets vio(); the server writes packets into it and reads the answers.
// Threads: one owner, on whose thread the server reads and writes.
// Lifetime: the attempt outlives the object, which outlives the THD's use of vio().
#pragma once

#include "api.h"
#include "engine/login.h"
#include "engine/server/login_packets.h"

namespace rowsocket::engine::server {

class LoginVio final : public LoginPackets {
 public:
  explicit LoginVio(const LoginAttempt& attempt);
  ~LoginVio() override;

  /// In MySQL, null if memory ran out.
  ServerVio* vio() { return vio_; }

 private:
  bool Answer(std::string_view plugin, bool is_switch, std::string_view data,
              std::string* answer) override;

  const LoginAttempt& attempt_;
  ServerVio* const vio_;
};

}  // namespace rowsocket::engine::server
