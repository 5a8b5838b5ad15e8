// TLS of the plugins: the values of their variables, and the server's certificates for net.
//
// Errors: texts, which name the variable to change.
#pragma once

#include <cstdint>
#include <string>

#include "api.h"
#include "exec/handshake_thread.h"
#include "net/address.h"

namespace rowsocket::plugin {

/// In the order of the values of PLUGIN_ssl_client_cert.
enum class ClientCert : uint8_t { kOptional, kRequired };

/// The values of a plugin's variables for TLS. Those of PLUGIN_ssl have the order of net::TlsMode.
struct TlsVariables {
  net::TlsMode mode = net::TlsMode::kOff;
  ClientCert client_cert = ClientCert::kOptional;
};

/// What a port needs for TLS. `plugin`: the plugin's name, with which its variables begin. `port`:
/// tells the ports of a plugin apart, in a few letters. False, with a text, where the server cannot
/// serve TLS so.
bool MakeTls(const TlsVariables& variables, const std::string& plugin, const std::string& port,
             net::TlsSettings* settings, std::string* error);

/// UNIX time at which the certificate ends that the server shows to new connections; 0 where it has
/// none. Any thread.
int64_t CertificateEnds();

/// Whether nobody without a certificate gets in over TCP.
inline bool AdmitsByCertificate(const TlsVariables& variables) {
  return variables.mode == net::TlsMode::kRequired &&
         variables.client_cert == ClientCert::kRequired;
}

}  // namespace rowsocket::plugin
