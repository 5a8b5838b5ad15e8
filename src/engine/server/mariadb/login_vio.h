// LoginPackets in the place of a connection, for the server's functions of authentication.
//
// Flow: THD::net gets vio(); acl_authenticate writes packets into it and reads the answers.
// Answers: mysql_native_password, client_ed25519; dialog and mysql_clear_password get the password
// as it is, because the plugin behind them wants that (PAM); any other plugin gets an empty packet,
// which is what unix_socket wants.
// Threads: one owner. Lifetime: the attempt outlives the object, which outlives the THD's use of
// vio().
#pragma once

#include "engine/login.h"
#include "engine/server/login_packets.h"

struct st_vio;

namespace rowsocket::engine::server {

class LoginVio final : public LoginPackets {
 public:
  explicit LoginVio(const LoginAttempt& attempt);
  ~LoginVio() override;

  st_vio* vio();

 private:
  struct Vio;

  bool Answer(std::string_view plugin, bool is_switch, std::string_view data,
              std::string* answer) override;

  const LoginAttempt& attempt_;
  Vio* const vio_;
};

}  // namespace rowsocket::engine::server
