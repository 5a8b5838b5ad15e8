// TLS for tests: certificates made on the spot, a server's context, and a client that is only
// bytes.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls.h"

namespace rowsocket::net {

/// These helpers serve the fuzz target as well, which has no GoogleTest.
inline void Must(bool holds) {
  if (!holds) std::abort();
}

struct TestKey {
  explicit TestKey(EVP_PKEY* made) : key(made) {}
  ~TestKey() { EVP_PKEY_free(key); }
  TestKey(const TestKey&) = delete;
  TestKey& operator=(const TestKey&) = delete;
  EVP_PKEY* const key;
};

/// A certificate and its key; self-signed unless an issuer is given.
class TestCertificate {
 public:
  explicit TestCertificate(const char* name, const TestCertificate* issuer = nullptr,
                           long seconds_valid = 3600)
      : key_(EVP_EC_gen("P-256")), x509_(X509_new()) {
    X509_set_version(x509_, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509_), issuer == nullptr ? 1 : 2);
    X509_gmtime_adj(X509_getm_notBefore(x509_), -7200);
    X509_gmtime_adj(X509_getm_notAfter(x509_), seconds_valid);
    X509_set_pubkey(x509_, key_.key);
    X509_NAME* const subject = X509_get_subject_name(x509_);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_issuer_name(x509_, issuer == nullptr ? subject : X509_get_subject_name(issuer->x509_));
    if (issuer == nullptr) {
      X509_EXTENSION* const is_authority =
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      X509_add_ext(x509_, is_authority, -1);
      X509_EXTENSION_free(is_authority);
    }
    X509_sign(x509_, issuer == nullptr ? key_.key : issuer->key_.key, EVP_sha256());
  }
  ~TestCertificate() { X509_free(x509_); }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  X509* x509() const { return x509_; }
  void Use(SSL_CTX* context) const {
    Must(SSL_CTX_use_certificate(context, x509_) == 1);
    Must(SSL_CTX_use_PrivateKey(context, key_.key) == 1);
  }

 private:
  const TestKey key_;
  X509* const x509_;
};

/// A server's context, which trusts the clients of one authority, as the server's own does.
class TestTlsContext final : public TlsContext {
 public:
  TestTlsContext() : context_(SSL_CTX_new(TLS_server_method())) {
    certificate_.Use(context_);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority.x509());
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, nullptr);
    SSL_CTX_set_security_level(context_, 0);  // Connections are then refused only because of their
                                              // version.
  }
  ~TestTlsContext() override { SSL_CTX_free(context_); }

  SSL* NewSsl() override { return has_certificate ? SSL_new(context_) : nullptr; }

  const TestCertificate authority{"authority"};
  bool has_certificate = true;

 private:
  const TestCertificate certificate_{"server"};
  SSL_CTX* const context_;
};

/// A TLS client without a socket: the test takes the bytes that it sends, and gives it the bytes
/// that it receives.
class TestTlsClient {
 public:
  explicit TestTlsClient(int version = TLS1_3_VERSION, const TestCertificate* certificate = nullptr)
      : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    if (certificate != nullptr) certificate->Use(context_);
    ssl_ = SSL_new(context_);
    from_server_ = BIO_new(BIO_s_mem());
    to_server_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_, from_server_, to_server_);
    SSL_set_connect_state(ssl_);
  }
  ~TestTlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TestTlsClient(const TestTlsClient&) = delete;
  TestTlsClient& operator=(const TestTlsClient&) = delete;

  SSL* ssl() const { return ssl_; }
  /// Goes on with the handshake. Returns whether it is done.
  bool Handshake() {
    ERR_clear_error();
    return SSL_do_handshake(ssl_) == 1;
  }
  void Give(std::string_view records) {
    BIO_write(from_server_, records.data(), static_cast<int>(records.size()));
  }
  /// All records that the client wants to send.
  std::string Take() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(to_server_, &data);
    std::string records(data, static_cast<size_t>(size));
    (void)BIO_reset(to_server_);
    return records;
  }
  /// The records of plain bytes.
  std::string Encrypt(std::string_view plain) {
    const int size = static_cast<int>(plain.size());
    Must(SSL_write(ssl_, plain.data(), size) == size);
    return Take();
  }
  /// All plain bytes in what was given so far.
  std::string Read() {
    std::string plain;
    char bytes[16 * 1024];
    for (;;) {
      ERR_clear_error();
      const int count = SSL_read(ssl_, bytes, sizeof(bytes));
      if (count <= 0) return plain;
      plain.append(bytes, static_cast<size_t>(count));
    }
  }
  /// Whether the server has said that it sends no more.
  bool ServerHasEnded() {
    Read();
    return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  std::string SayEnd() {
    SSL_shutdown(ssl_);
    return Take();
  }

 private:
  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
  BIO* from_server_ = nullptr;  // ssl_ owns it
  BIO* to_server_ = nullptr;    // ssl_ owns it
};

/// Settings for a port that offers TLS with `context`.
inline TlsSettings TestTlsSettings(TlsContext& context, TlsMode mode = TlsMode::kOn) {
  TlsSettings settings;
  settings.mode = mode;
  settings.context = &context;
  settings.session_context = "test";
  return settings;
}

}  // namespace rowsocket::net
