// How a port offers TLS, and where the TLS objects of its connections come from.
//
// Nothing here knows the server: TlsContext hides its certificates, ciphers and their renewal.
#pragma once

#include <cstdint>
#include <string>

struct ssl_st;  // OpenSSL's SSL

namespace rowsocket::net {

/// The first byte of a TLS connection: the type of a handshake record. No request of any
/// protocol begins with this byte, so that one port serves both kinds of connections.
inline constexpr char kTlsFirstByte = '\x16';

enum class TlsMode : uint8_t {
  kOff,       ///< A connection is plain, whatever its first byte is.
  kOn,        ///< The first byte of a TCP connection decides; UNIX sockets stay plain.
  kRequired,  ///< Plain TCP connections are refused; UNIX sockets stay plain.
};

/// Makes TLS objects from the server's present certificate and key.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// A new object, which the caller frees; null if there is no certificate or no memory. Called
  /// from any thread.
  virtual ssl_st* NewSsl() = 0;
};

struct TlsSettings {
  TlsMode mode = TlsMode::kOff;
  bool needs_client_certificate = false;
  TlsContext* context = nullptr;  ///< Not null unless kOff; it outlives the connections.
  /// Sessions are resumed only by connections with the same name here, of at most 32 bytes.
  std::string session_context;
};

/// Whether the socket is TCP, and not a UNIX socket.
bool IsTcp(int fd);

}  // namespace rowsocket::net
