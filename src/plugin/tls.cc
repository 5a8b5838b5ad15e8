#include "plugin/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>

#include "engine/server/server_tls.h"
#include "plugin/host.h"

namespace rowsocket::plugin {

namespace {

class ServersContext : public net::TlsContext {
 public:
  ssl_st* NewSsl() override { return engine::server::NewServerSsl(); }
};

/// The context of ports whose clients need a certificate.
class ContextWithAuthorities final : public ServersContext {
 public:
  // In a server that allows it, the variables may have been emptied since the port was opened.
  ssl_st* NewSsl() override {
    if (engine::server::HasOwnAuthorities()) return ServersContext::NewSsl();
    if (!was_said_.exchange(true)) {
      LogPrintableError(
          "a client has asked for TLS on a port that needs certificates, and was refused: "
          "ssl_ca and ssl_capath are empty");
    }
    return nullptr;
  }

 private:
  std::atomic<bool> was_said_{false};
};

ServersContext servers_context;
ContextWithAuthorities context_with_authorities;

}  // namespace

bool MakeTls(const TlsVariables& variables, const std::string& plugin, const std::string& port,
             net::TlsSettings* settings, std::string* error) {
  settings->mode = variables.mode;
  settings->needs_client_certificate = variables.client_cert == ClientCert::kRequired;
  if (variables.mode == net::TlsMode::kOff) return true;
  const std::string why = engine::server::WhyNoTls();
  if (!why.empty()) {
    *error = plugin + "_ssl cannot be had: " + why;
    return false;
  }
  if (settings->needs_client_certificate && !engine::server::HasOwnAuthorities()) {
    *error = plugin +
             "_ssl_client_cert=REQUIRED needs ssl_ca or ssl_capath: without them every "
             "certificate that the operating system trusts would do";
    return false;
  }
  settings->context = &servers_context;
  if (settings->needs_client_certificate) settings->context = &context_with_authorities;
  // A session that was begun without a certificate must not be resumed at a port that needs one.
  settings->session_context =
      plugin + " " + port + (settings->needs_client_certificate ? " cert" : "");
  return true;
}

int64_t CertificateEnds() {
  if (!engine::server::WhyNoTls().empty()) return 0;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(engine::server::NewServerSsl(), SSL_free);
  const X509* const certificate = ssl != nullptr ? SSL_get_certificate(ssl.get()) : nullptr;
  std::tm ends{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &ends) != 1)
    return 0;
  return std::max<int64_t>(0, timegm(&ends));
}

}  // namespace rowsocket::plugin
