// LoginPackets in the place of a connection, for the server's functions of authentication.
//
// Flow: THD::net gets vio(); the server reads COM_CHANGE_USER's packet from it, writes packets into
//       it, and reads the answers.
// Answers: caching_sha2_password, which asks for the password itself over a secure transport alone.
// Memory is one: the connection counts as one from then on (login.cc looks at the client's own
// transport). sha256_password, mysql_clear_password and dialog get the password as it is; the first
// takes it where the client's connection has TLS. Any other plugin gets an empty packet; a second
// factor is not answered.
// Threads: one owner, on whose thread the server reads and writes. Lifetime: the attempt outlives
// the object, which outlives the THD's use of vio().
#pragma once

#include "engine/login.h"
#include "engine/server/login_packets.h"

struct Vio;

namespace rowsocket::engine::server {

class LoginVio final : public LoginPackets {
 public:
  explicit LoginVio(const LoginAttempt& attempt);
  ~LoginVio() override;

  /// Null where memory ran out.
  Vio* vio() { return vio_; }

 private:
  bool Answer(std::string_view plugin, bool is_switch, std::string_view data,
              std::string* answer) override;
  void BecomeSecure();

  const LoginAttempt& attempt_;
  Vio* const vio_;
};

}  // namespace rowsocket::engine::server
