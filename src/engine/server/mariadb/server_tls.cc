#include "engine/server/server_tls.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include "api.h"

namespace rowsocket::engine::server {

ssl_st* NewServerSsl() {
  mysql_rwlock_rdlock(&LOCK_ssl_refresh);
  ssl_st* const ssl = ssl_acceptor_fd != nullptr ? SSL_new(ssl_acceptor_fd->ssl_context) : nullptr;
  mysql_rwlock_unlock(&LOCK_ssl_refresh);
  return ssl;
}

// The server and this library pass TLS objects to each other, so that both must have the same
// shared library of OpenSSL. A server can be built with another TLS library inside it.
std::string WhyNoTls() {
  const std::string ours = OpenSSL_version(OPENSSL_VERSION);
  const std::string servers = TextOfVariable("version_ssl_library");
  if (ours != servers) {
    return "this rowsocket.so uses " + ours + ", and the server " + servers +
           " (version_ssl_library): TLS needs one library for both";
  }
  if (!opt_use_ssl) return "the server has no TLS: set ssl_cert and ssl_key";
  return {};
}

bool HasOwnAuthorities() {
  const auto is_set = [](const char* text) { return text != nullptr && *text != '\0'; };
  return is_set(opt_ssl_ca) || is_set(opt_ssl_capath);
}

}  // namespace rowsocket::engine::server
