#include "engine/server/server_tls.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include "api.h"

// The server declares this function in a header that api.h cannot include.
extern sys_var* intern_find_sys_var(const char* name, size_t bytes);

namespace rowsocket::engine::server {

namespace {

/// The text of the server's variable of that name, which no statement can change.
std::string FixedVariable(std::string_view name) {
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  if (variable == nullptr) return {};
  mysql_mutex_lock(&LOCK_global_system_variables);
  const LEX_CSTRING none = {nullptr, 0};
  const uchar* const place = variable->value_ptr(current_thd, OPT_GLOBAL, &none);
  const char* const text =
      place != nullptr ? *reinterpret_cast<const char* const*>(place) : nullptr;
  const std::string value = text != nullptr ? text : "";
  mysql_mutex_unlock(&LOCK_global_system_variables);
  return value;
}

}  // namespace

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
  const std::string servers = FixedVariable("version_ssl_library");
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
