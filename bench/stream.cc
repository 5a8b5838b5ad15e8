#include "bench/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "bench/sockets.h"

namespace rowsocket::bench {

namespace {

/// The server's certificate is not checked, because only the encryption is measured.
SSL_CTX* Context() {
  static SSL_CTX* const context = [] {
    SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
    if (made == nullptr) return made;
    SSL_CTX_set_read_ahead(made, 1);
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // OpenSSL writes to sockets without MSG_NOSIGNAL.
    std::signal(SIGPIPE, SIG_IGN);
    return made;
  }();
  return context;
}

}  // namespace

void Stream::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Stream Stream::Open(const Options& options) {
  Stream stream;
  stream.fd_ = ConnectTo(options);
  if (!stream.valid() || !options.tls) return stream;
  stream.ssl_.reset(Context() != nullptr ? SSL_new(Context()) : nullptr);
  if (stream.ssl_ == nullptr || SSL_set_fd(stream.ssl_.get(), stream.fd()) != 1 ||
      SSL_connect(stream.ssl_.get()) != 1) {
    stream.Close();
    errno = EPROTO;
  }
  return stream;
}

ssize_t Stream::Send(const char* bytes, size_t count) {
  if (ssl_ == nullptr) return send(fd_.get(), bytes, count, MSG_NOSIGNAL);
  ERR_clear_error();
  size_t sent = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes, count, &sent);
  return Result(result, sent);
}

bool Stream::SendAll(const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t sent = Send(bytes, count);
    if (sent <= 0) return false;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

ssize_t Stream::Receive(char* bytes, size_t count) {
  if (ssl_ == nullptr) return recv(fd_.get(), bytes, count, 0);
  ERR_clear_error();
  size_t received = 0;
  const int result = SSL_read_ex(ssl_.get(), bytes, count, &received);
  return Result(result, received);
}

bool Stream::has_pending() const { return ssl_ != nullptr && SSL_has_pending(ssl_.get()) == 1; }

ssize_t Stream::Result(int result, size_t count) const {
  if (result == 1) return static_cast<ssize_t>(count);
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      errno = EPROTO;
      return -1;
  }
}

}  // namespace rowsocket::bench
