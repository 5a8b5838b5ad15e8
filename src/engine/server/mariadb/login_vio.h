// The client's side of the server's authentication, played in memory: the server's plugins ask, and
// get the answers that a client with the user's password would give.
//
// Flow: THD::net gets vio(); acl_authenticate writes packets into it, each of which is answered at
//       once, and reads the answers.
// Answers: mysql_native_password, client_ed25519; dialog and mysql_clear_password get the password
// as it is, because the plugin behind them wants that (PAM); any other plugin gets an empty packet,
// which is what unix_socket wants.
// Threads: one owner. Lifetime: the attempt outlives the object, which outlives the THD's use of
// vio(). Everything that was made of the password is wiped. Limits: kAnswersMax answers.
#pragma once

#include <string>
#include <string_view>

#include "engine/login.h"

struct st_vio;

namespace rowsocket::engine::server {

class LoginVio {
 public:
  explicit LoginVio(const LoginAttempt& attempt);
  ~LoginVio();
  LoginVio(const LoginVio&) = delete;
  LoginVio& operator=(const LoginVio&) = delete;

  st_vio* vio();

 private:
  struct Vio;

  static size_t Read(st_vio* vio, unsigned char* to, size_t size);
  static size_t Write(st_vio* vio, const unsigned char* from, size_t size);
  void TakePackets();
  void OnPacket(unsigned char number, std::string_view payload);
  /// False: there is no answer, and the server reads the end of the connection.
  bool Answer(std::string_view data, std::string* answer) const;

  static constexpr unsigned kAnswersMax = 16;

  const LoginAttempt& attempt_;
  Vio* const vio_;
  std::string from_server_;  ///< What the server has written, up to the next complete packet.
  std::string plugin_;       ///< The client's plugin that the server has asked for.
  std::string to_server_;
  size_t taken_ = 0;  ///< Bytes of to_server_ that the server has read.
  unsigned answers_ = 0;
};

}  // namespace rowsocket::engine::server
