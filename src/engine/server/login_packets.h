// The client's side of the server's authentication, played in memory: the server's plugins ask, and
// get the answers that a client with the user's password would give.
//
// Flow: { Write: the server has sent something, and each complete packet is answered at once }
//       { Read: it takes the answer }*
// Threads: one owner.
// Lifetime: everything that was made of the password is wiped.
// Limits: kAnswersMax answers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rowsocket::engine::server {

class LoginPackets {
 public:
  LoginPackets() = default;
  virtual ~LoginPackets();
  LoginPackets(const LoginPackets&) = delete;
  LoginPackets& operator=(const LoginPackets&) = delete;

  /// Queues a packet for the server to read.
  void Send(unsigned char number, std::string_view payload);

  /// Gives the server what it reads. Returns the number of bytes; 0: the client has gone.
  size_t Read(unsigned char* to, size_t size);
  /// Takes what the server writes, and answers each complete packet. Returns the number of bytes.
  size_t Write(const unsigned char* from, size_t size);

 protected:
  /// Answers a packet for the client's plugin that the server has asked for. `is_switch`: the
  /// packet has named the plugin, and `data` is what comes after the name. False: there is no
  /// answer, and the server reads the end of the connection.
  virtual bool Answer(std::string_view plugin, bool is_switch, std::string_view data,
                      std::string* answer) = 0;

 private:
  void OnPacket(unsigned char number, std::string_view payload);

  static constexpr unsigned kAnswersMax = 16;

  std::string from_server_;  ///< What the server has written of a packet that is not complete.
  std::string plugin_;       ///< The client's plugin that the server has asked for.
  std::string to_server_;
  size_t taken_ = 0;  ///< Bytes of to_server_ that the server has read.
  unsigned answers_ = 0;
};

/// Writes the answer of those plugins that send the password as it is.
void GivePassword(std::string_view password, std::string* answer);

}  // namespace rowsocket::engine::server
