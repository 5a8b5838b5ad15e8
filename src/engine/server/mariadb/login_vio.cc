#include "engine/server/login_vio.h"

#include "login_api.h"

namespace rowsocket::engine::server {

namespace {

constexpr size_t kNonceBytes = 32;
constexpr size_t kSignatureBytes = 64;

struct OwnedVio : st_vio {
  explicit OwnedVio(LoginVio& given) : st_vio(), owner(given) {}
  LoginVio& owner;
};

}  // namespace

LoginVio::LoginVio(const LoginAttempt& attempt) : attempt_(attempt), vio_(new OwnedVio(*this)) {
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
  vio.read = [](st_vio* vio, uchar* to, size_t size) {
    return static_cast<OwnedVio*>(vio)->owner.Read(to, size);
  };
  vio.write = [](st_vio* vio, const uchar* from, size_t size) {
    return static_cast<OwnedVio*>(vio)->owner.Write(from, size);
  };
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

LoginVio::~LoginVio() { delete static_cast<OwnedVio*>(vio_); }

// Answers mysql_native_password and client_ed25519; dialog and mysql_clear_password get the
// password as it is, because their server side (PAM) needs it so; any other plugin gets an empty
// packet, which is what unix_socket expects.
bool LoginVio::Answer(std::string_view plugin, bool, std::string_view data, std::string* answer) {
  const std::string_view password = attempt_.password.view();
  if (plugin == "mysql_native_password") {
    if (password.empty()) return true;
    if (data.size() < SCRAMBLE_LENGTH) return false;
    answer->resize(SCRAMBLE_LENGTH);
    scramble(answer->data(), data.data(), attempt_.password.c_str());
  } else if (plugin == "client_ed25519") {
    if (data.size() != kNonceBytes) return false;
    unsigned char text[kSignatureBytes + kNonceBytes];
    crypto_sign(text, reinterpret_cast<const unsigned char*>(data.data()), kNonceBytes,
                reinterpret_cast<const unsigned char*>(password.data()), password.size());
    answer->assign(reinterpret_cast<const char*>(text), kSignatureBytes);
  } else if (plugin == "dialog" || plugin == "mysql_clear_password") {
    GivePassword(password, answer);
  }
  return true;
}

}  // namespace rowsocket::engine::server
