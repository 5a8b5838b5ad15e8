#include "engine/server/server_tls.h"

#include <openssl/ssl.h>

#include <atomic>

#include "api.h"
#include "engine/server/server_log.h"
#include "sql/ssl_acceptor_context_data.h"
#include "sql/ssl_acceptor_context_operator.h"

namespace rowsocket::engine::server {

namespace {

constexpr char kNoTls[] = "the server has no TLS: set ssl_cert and ssl_key";

}  // namespace

// The server makes its context only after it has loaded its plugins. Readers of the context never
// wait for its lock.
ssl_st* NewServerSsl() {
  static std::atomic<bool> was_said{false};
  if (mysql_main != nullptr) {
    Lock_and_access_ssl_acceptor_context current(mysql_main);
    SSL_CTX* const context = current.have_ssl() ? static_cast<SSL_CTX*>(current) : nullptr;
    if (context != nullptr) return SSL_new(context);
  }
  if (!was_said.exchange(true)) LogWarning("a client has asked for TLS, but %s", kNoTls);
  return nullptr;
}

std::string WhyNoTls() {
  if (mysql_main == nullptr) return {};
  return Lock_and_access_ssl_acceptor_context(mysql_main).have_ssl() ? "" : kNoTls;
}

// While the server starts, authorities that it will find in its data directory by itself are not
// known yet.
bool HasOwnAuthorities() {
  return !TextOfVariable("ssl_ca").empty() || !TextOfVariable("ssl_capath").empty();
}

}  // namespace rowsocket::engine::server
