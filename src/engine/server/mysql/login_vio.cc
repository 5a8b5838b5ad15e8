#include "engine/server/login_vio.h"

#include "api.h"
#include "violite.h"

// A function of the server, declared in no header that may be included.
Vio* internal_vio_create(uint flags);
bool generate_sha256_scramble(unsigned char* to, size_t to_size, const char* password,
                              size_t password_size, const char* nonce, size_t nonce_size);

namespace rowsocket::engine::server {

namespace {

constexpr size_t kDigestBytes = 32;
/// Begins a packet for the client's plugin.
constexpr char kMoreData = '\x01';
/// With this, caching_sha2_password asks for the password itself.
constexpr char kFullAuthentication = '\x04';

/// The owner of the thread's Vio, which has no member for it. All calls come on the thread of the
/// login.
thread_local LoginVio* of_this_thread = nullptr;

/// Makes the Vio count as secure: the server asks for the password itself only over a secure
/// transport, which memory is.
void BecomeSecure(Vio* vio) {
  if (vio->type == VIO_TYPE_TCPIP) vio->type = VIO_TYPE_SOCKET;
}

}  // namespace

LoginVio::LoginVio(const LoginAttempt& attempt) : attempt_(attempt), vio_(internal_vio_create(0)) {
  of_this_thread = this;
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
  vio.read = [](Vio*, uchar* to, size_t size) { return of_this_thread->Read(to, size); };
  vio.write = [](Vio*, const uchar* from, size_t size) {
    return of_this_thread->Write(from, size);
  };
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
  if (vio_ != nullptr) {
    vio_->ssl_arg = nullptr;
    vio_delete(vio_);
  }
  of_this_thread = nullptr;
}

// Answers these plugins: caching_sha2_password, which asks for the password itself only over a
// secure transport, so that the connection counts as secure from then on (login.cc looks at the
// client's own transport). sha256_password, mysql_clear_password and dialog get the password as it
// is; the first of them only if the client's connection has TLS. Any other plugin gets an empty
// packet; a second factor is not answered.
bool LoginVio::Answer(std::string_view plugin, bool is_switch, std::string_view data,
                      std::string* answer) {
  if (!is_switch) {
    if (!data.starts_with(kMoreData)) return false;
    data.remove_prefix(1);
  }
  const std::string_view password = attempt_.password.view();
  const bool caches = plugin == "caching_sha2_password";
  if (caches && is_switch) {
    if (password.empty()) return true;
    if (data.size() < SCRAMBLE_LENGTH) return false;
    answer->resize(kDigestBytes);
    return !generate_sha256_scramble(reinterpret_cast<unsigned char*>(answer->data()), kDigestBytes,
                                     password.data(), password.size(), data.data(),
                                     SCRAMBLE_LENGTH);
  }
  if (caches && (data.empty() || data.front() != kFullAuthentication)) return false;
  if (caches) BecomeSecure(vio_);
  if (caches || plugin == "sha256_password" || plugin == "mysql_clear_password" ||
      plugin == "dialog") {
    GivePassword(password, answer);
  }
  return true;
}

}  // namespace rowsocket::engine::server
