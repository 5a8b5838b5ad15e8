// The client's side of the server's authentication, played in memory: the server's plugins ask, and
// get the answers that a client with the user's password would give.
//
// Flow: THD::net gets vio(); the server reads COM_CHANGE_USER's packet from it, writes packets into
//       it, each of which is answered at once, and reads the answers.
// Answers: caching_sha2_password, which asks for the password itself over a secure transport alone.
// Memory is one: the connection counts as one from then on (login.cc has looked at the client's own
// transport before). sha256_password, mysql_clear_password and dialog get the password as it is;
// the first takes it where the client's connection has TLS. Any other plugin gets an empty packet;
// a second factor is not answered. Threads: one owner, on whose thread the server reads and writes.
// Lifetime: the attempt outlives the object, which outlives the THD's use of vio(). Everything that
// was made of the password is wiped. Limits: kAnswersMax answers.
#pragma once

#include <string>
#include <string_view>

#include "engine/login.h"

struct Vio;

namespace rowsocket::engine::server {

class LoginVio {
 public:
  /// `packet`: what the server reads first.
  LoginVio(const LoginAttempt& attempt, std::string_view packet);
  ~LoginVio();
  LoginVio(const LoginVio&) = delete;
  LoginVio& operator=(const LoginVio&) = delete;

  /// Null where memory ran out.
  Vio* vio() { return vio_; }

 private:
  static size_t Read(Vio* vio, unsigned char* to, size_t size);
  static size_t Write(Vio* vio, const unsigned char* from, size_t size);
  void TakePackets();
  void OnPacket(unsigned char number, std::string_view payload);
  /// False: there is no answer, and the server reads the end of the connection.
  bool Answer(std::string_view data, bool is_switch, std::string* answer);
  void SendToServer(unsigned char number, std::string_view payload);
  void BecomeSecure();

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
