#include "login_vio.h"

#include <algorithm>
#include <cstring>

#include "login_api.h"

namespace rowsocket::engine::server {

namespace {

constexpr size_t kHeaderBytes = 4;  ///< The length in three bytes, the packet's number.
constexpr size_t kNonceBytes = 32;
constexpr size_t kSignatureBytes = 64;
/// Begins a packet that asks for another plugin of the client.
constexpr char kSwitchPlugin = '\xfe';

}  // namespace

struct LoginVio::Vio : st_vio {
  explicit Vio(LoginVio& given) : st_vio(), owner(given) {}
  LoginVio& owner;
};

LoginVio::LoginVio(const LoginAttempt& attempt) : attempt_(attempt), vio_(new Vio(*this)) {
  st_vio& vio = *vio_;
  vio.mysql_socket.fd = attempt.fd;
  vio.localhost = attempt.is_unix;
  vio.remote = attempt.address;
  vio.type = attempt.tls != nullptr ? VIO_TYPE_SSL
             : attempt.is_unix      ? VIO_TYPE_SOCKET
                                    : VIO_TYPE_TCPIP;
  vio.state = VIO_STATE_ACTIVE;
  vio.desc = "rowsocket";
  vio.ssl_arg = attempt.tls;
  vio.viodelete = [](st_vio*) {};
  vio.vioerrno = [](st_vio*) { return 0; };
  vio.read = Read;
  vio.write = Write;
  vio.timeout = [](st_vio*, uint, my_bool) { return 0; };
  vio.vioblocking = [](st_vio*, my_bool, my_bool*) { return 0; };
  vio.is_blocking = [](st_vio*) -> my_bool { return 1; };
  vio.viokeepalive = [](st_vio*, my_bool) { return 0; };
  vio.fastsend = [](st_vio*) { return 0; };
  vio.peer_addr = [](st_vio*, char*, uint16*, size_t) -> my_bool { return 1; };
  vio.in_addr = [](st_vio*, sockaddr_storage*) {};
  vio.should_retry = [](st_vio*) -> my_bool { return 0; };
  vio.was_timeout = [](st_vio*) -> my_bool { return 0; };
  vio.vioclose = [](st_vio*) { return 0; };
  vio.is_connected = [](st_vio*) -> my_bool { return 1; };
  vio.shutdown = [](st_vio*, int) { return 0; };
  vio.has_data = [](st_vio*) -> my_bool { return 0; };
  vio.io_wait = [](st_vio*, enum_vio_io_event, int) { return 1; };
  vio.connect = [](st_vio*, sockaddr*, socklen_t, int) -> my_bool { return 1; };
}

LoginVio::~LoginVio() {
  base::Wipe(to_server_);
  delete vio_;
}

st_vio* LoginVio::vio() { return vio_; }

size_t LoginVio::Read(st_vio* vio, unsigned char* to, size_t size) {
  LoginVio& owner = static_cast<Vio*>(vio)->owner;
  const std::string_view rest = std::string_view(owner.to_server_).substr(owner.taken_);
  const size_t bytes = std::min(size, rest.size());
  if (bytes != 0) std::memcpy(to, rest.data(), bytes);
  owner.taken_ += bytes;
  return bytes;  // 0: the client has gone.
}

size_t LoginVio::Write(st_vio* vio, const unsigned char* from, size_t size) {
  LoginVio& owner = static_cast<Vio*>(vio)->owner;
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
  if (++answers_ > kAnswersMax) return;
  if (payload.starts_with(kSwitchPlugin)) {
    payload.remove_prefix(1);
    plugin_ = payload.substr(0, payload.find('\0'));
    payload.remove_prefix(std::min(payload.size(), plugin_.size() + 1));
  }
  std::string answer;
  if (Answer(payload, &answer)) {
    base::Wipe(to_server_);
    to_server_.clear();
    // The string does not move afterwards, which would leave a copy behind.
    to_server_.reserve(kHeaderBytes + answer.size());
    to_server_.push_back(static_cast<char>(answer.size() & 0xff));
    to_server_.push_back(static_cast<char>(answer.size() >> 8 & 0xff));
    to_server_.push_back('\0');
    to_server_.push_back(static_cast<char>(number + 1));
    to_server_ += answer;
    taken_ = 0;
  }
  base::Wipe(answer);
}

bool LoginVio::Answer(std::string_view data, std::string* answer) const {
  const std::string_view password = attempt_.password.view();
  if (plugin_ == "mysql_native_password") {
    if (password.empty()) return true;
    if (data.size() < SCRAMBLE_LENGTH) return false;
    answer->resize(SCRAMBLE_LENGTH);
    scramble(answer->data(), data.data(), attempt_.password.c_str());
  } else if (plugin_ == "client_ed25519") {
    if (data.size() != kNonceBytes) return false;
    unsigned char text[kSignatureBytes + kNonceBytes];
    crypto_sign(text, reinterpret_cast<const unsigned char*>(data.data()), kNonceBytes,
                reinterpret_cast<const unsigned char*>(password.data()), password.size());
    answer->assign(reinterpret_cast<const char*>(text), kSignatureBytes);
  } else if (plugin_ == "dialog" || plugin_ == "mysql_clear_password") {
    answer->reserve(password.size() + 1);
    answer->assign(password);
    answer->push_back('\0');
  }
  return true;
}

}  // namespace rowsocket::engine::server
