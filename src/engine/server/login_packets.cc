#include "engine/server/login_packets.h"

#include <algorithm>
#include <cstring>

#include "base/secret_text.h"

namespace rowsocket::engine::server {

namespace {

constexpr size_t kHeaderBytes = 4;  ///< The length in three bytes, the packet's number.
/// Begins a packet that asks for another plugin of the client.
constexpr char kSwitchPlugin = '\xfe';

}  // namespace

LoginPackets::~LoginPackets() { base::Wipe(to_server_); }

size_t LoginPackets::Read(unsigned char* to, size_t size) {
  const std::string_view rest = std::string_view(to_server_).substr(taken_);
  const size_t bytes = std::min(size, rest.size());
  if (bytes != 0) std::memcpy(to, rest.data(), bytes);
  taken_ += bytes;
  return bytes;
}

size_t LoginPackets::Write(const unsigned char* from, size_t size) {
  from_server_.append(reinterpret_cast<const char*>(from), size);
  while (from_server_.size() >= kHeaderBytes) {
    const auto* const header = reinterpret_cast<const unsigned char*>(from_server_.data());
    const size_t bytes = header[0] | size_t{header[1]} << 8 | size_t{header[2]} << 16;
    if (from_server_.size() < kHeaderBytes + bytes) break;
    OnPacket(header[3], std::string_view(from_server_).substr(kHeaderBytes, bytes));
    from_server_.erase(0, kHeaderBytes + bytes);
  }
  return size;
}

void LoginPackets::OnPacket(unsigned char number, std::string_view payload) {
  if (++answers_ > kAnswersMax) return;
  const bool is_switch = payload.starts_with(kSwitchPlugin);
  if (is_switch) {
    payload.remove_prefix(1);
    plugin_ = payload.substr(0, payload.find('\0'));
    payload.remove_prefix(std::min(payload.size(), plugin_.size() + 1));
  }
  std::string answer;
  if (Answer(plugin_, is_switch, payload, &answer)) {
    Send(static_cast<unsigned char>(number + 1), answer);
  }
  base::Wipe(answer);
}

void LoginPackets::Send(unsigned char number, std::string_view payload) {
  base::Wipe(to_server_);
  to_server_.clear();
  // With its whole size from the start the string does not move, which would leave a copy of the
  // password in memory.
  to_server_.reserve(kHeaderBytes + payload.size());
  to_server_.push_back(static_cast<char>(payload.size() & 0xff));
  to_server_.push_back(static_cast<char>(payload.size() >> 8 & 0xff));
  to_server_.push_back('\0');
  to_server_.push_back(static_cast<char>(number));
  to_server_ += payload;
  taken_ = 0;
}

// The string gets its size before it gets the password: growing would leave a copy of the password
// in memory.
void GivePassword(std::string_view password, std::string* answer) {
  answer->reserve(password.size() + 1);
  answer->assign(password);
  answer->push_back('\0');
}

}  // namespace rowsocket::engine::server
