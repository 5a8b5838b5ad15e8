// TLS of the plugins: the values of their variables, and the server's certificates in the form that
// net needs.
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

/// Makes a port's settings for TLS. `plugin`: the plugin's name, with which its variables begin.
/// `port`: a few letters that tell the ports of a plugin apart. False, with a text, if the server
/// cannot serve TLS in this way.
bool MakeTls(const TlsVariables& variables, const std::string& plugin, const std::string& port,
             net::TlsSettings* settings, std::string* error);

/// The UNIX time at which the certificate that the server shows to new connections ends; 0: it has
/// none. Any thread.
int64_t CertificateEnds();

/// Whether a client over TCP gets in by its certificate alone, so that a port beyond this machine
/// needs neither a secret nor accounts.
inline bool AdmitsByCertificate(const TlsVariables& variables) {
  return variables.mode == net::TlsMode::kRequired &&
         variables.client_cert == ClientCert::kRequired;
}

}  // namespace rowsocket::plugin
