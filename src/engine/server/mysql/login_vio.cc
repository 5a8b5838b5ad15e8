#include "login_vio.h"

#include <algorithm>
#include <cstring>

#include "api.h"
#include "violite.h"

// The server's, in no header that may be included.
Vio* internal_vio_create(uint flags);
bool generate_sha256_scramble(unsigned char* to, size_t to_size, const char* password,
                              size_t password_size, const char* nonce, size_t nonce_size);

namespace rowsocket::engine::server {

namespace {

constexpr size_t kHeaderBytes = 4;  ///< The length in three bytes, the packet's number.
constexpr size_t kDigestBytes = 32;
// The first byte of a packet.
constexpr char kMoreData = '\x01';
constexpr char kSwitchPlugin = '\xfe';
/// caching_sha2_password wants the password itself.
constexpr char kFullAuthentication = '\x04';

/// A Vio has no place for its owner. All calls come on the thread of the login.
thread_local LoginVio* of_this_thread = nullptr;

}  // namespace

LoginVio::LoginVio(const LoginAttempt& attempt, std::string_view packet)
    : attempt_(attempt), vio_(internal_vio_create(0)) {
  of_this_thread = this;
  SendToServer(0, packet);
  if (vio_ == nullptr) return;
  Vio& vio = *vio_;
  vio.mysql_socket.fd = attempt.fd;
  vio.localhost = attempt.is_unix;
  vio.remote = attempt.address;
  vio.addrLen = sizeof(attempt.address);
  vio.type = attempt.tls != nullptr ? VIO_TYPE_SSL
             : attempt.is_unix      ? VIO_TYPE_SOCKET
                                    : VIO_TYPE_TCPIP;
  vio.ssl_arg = attempt.tls;
  vio.viodelete = [](Vio*) {};
  vio.vioerrno = [](Vio*) { return 0; };
  vio.read = Read;
  vio.write = Write;
  vio.timeout = [](Vio*, uint, bool) { return 0; };
  vio.viokeepalive = [](Vio*, bool) { return 0; };
  vio.fastsend = [](Vio*) { return 0; };
  vio.peer_addr = [](Vio*, char*, uint16*, size_t) { return true; };
  vio.in_addr = [](Vio*, sockaddr_storage*) {};
  vio.should_retry = [](Vio*) { return false; };
  vio.was_timeout = [](Vio*) { return false; };
  vio.vioshutdown = [](Vio*) { return 0; };
  vio.is_connected = [](Vio*) { return true; };
  vio.has_data = [](Vio*) { return false; };
  vio.io_wait = [](Vio*, enum_vio_io_event, int) { return 1; };
  vio.connect = [](Vio*, sockaddr*, socklen_t, int) { return true; };
  vio.is_blocking = [](Vio*) { return true; };
  vio.set_blocking = [](Vio*, bool) { return 0; };
  vio.set_blocking_flag = [](Vio*, bool) { return 0; };
}

LoginVio::~LoginVio() {
  base::Wipe(to_server_);
  if (vio_ != nullptr) {
    vio_->ssl_arg = nullptr;
    vio_delete(vio_);
  }
  of_this_thread = nullptr;
}

size_t LoginVio::Read(Vio*, unsigned char* to, size_t size) {
  LoginVio& owner = *of_this_thread;
  const std::string_view rest = std::string_view(owner.to_server_).substr(owner.taken_);
  const size_t bytes = std::min(size, rest.size());
  if (bytes != 0) std::memcpy(to, rest.data(), bytes);
  owner.taken_ += bytes;
  return bytes;  // 0: the client has gone.
}

size_t LoginVio::Write(Vio*, const unsigned char* from, size_t size) {
  LoginVio& owner = *of_this_thread;
  owner.from_server_.append(reinterpret_cast<const char*>(from), size);
  owner.TakePackets();
  return size;
}

void LoginVio::TakePackets() {
  while (from_server_.size() >= kHeaderBytes) {
    const auto* const header = reinterpret_cast<const unsigned char*>(from_server_.data());
    const size_t bytes = uint3korr(header);
    if (from_server_.size() < kHeaderBytes + bytes) return;
    OnPacket(header[3], std::string_view(from_server_).substr(kHeaderBytes, bytes));
    from_server_.erase(0, kHeaderBytes + bytes);
  }
}

void LoginVio::OnPacket(unsigned char number, std::string_view payload) {
  if (++answers_ > kAnswersMax || payload.empty()) return;
  const bool is_switch = payload.front() == kSwitchPlugin;
  if (!is_switch && payload.front() != kMoreData) return;
  payload.remove_prefix(1);
  if (is_switch) {
    plugin_ = payload.substr(0, payload.find('\0'));
    payload.remove_prefix(std::min(payload.size(), plugin_.size() + 1));
  }
  std::string answer;
  if (Answer(payload, is_switch, &answer))
    SendToServer(static_cast<unsigned char>(number + 1), answer);
  base::Wipe(answer);
}

void LoginVio::SendToServer(unsigned char number, std::string_view payload) {
  base::Wipe(to_server_);
  to_server_.clear();
  // The string does not move afterwards, which would leave a copy behind.
  to_server_.reserve(kHeaderBytes + payload.size());
  to_server_.push_back(static_cast<char>(payload.size() & 0xff));
  to_server_.push_back(static_cast<char>(payload.size() >> 8 & 0xff));
  to_server_.push_back('\0');
  to_server_.push_back(static_cast<char>(number));
  to_server_ += payload;
  taken_ = 0;
}

bool LoginVio::Answer(std::string_view data, bool is_switch, std::string* answer) {
  const std::string_view password = attempt_.password.view();
  const bool caches = plugin_ == "caching_sha2_password";
  if (caches && is_switch) {
    if (password.empty()) return true;
    if (data.size() < SCRAMBLE_LENGTH) return false;
    answer->resize(kDigestBytes);
    return !generate_sha256_scramble(reinterpret_cast<unsigned char*>(answer->data()), kDigestBytes,
                                     password.data(), password.size(), data.data(),
                                     SCRAMBLE_LENGTH);
  }
  if (caches && (data.empty() || data.front() != kFullAuthentication)) return false;
  if (caches) BecomeSecure();
  if (caches || plugin_ == "sha256_password" || plugin_ == "mysql_clear_password" ||
      plugin_ == "dialog") {
    answer->reserve(password.size() + 1);
    answer->assign(password);
    answer->push_back('\0');
  }
  return true;
}

void LoginVio::BecomeSecure() {
  if (vio_->type == VIO_TYPE_TCPIP) vio_->type = VIO_TYPE_SOCKET;
}

}  // namespace rowsocket::engine::server
