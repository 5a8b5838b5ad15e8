// The TLS of one connection: a filter between the bytes of its socket and its plain input and
// output. It makes no system calls.
//
// Flow: socket -> received() -> Handshake, later Decrypt -> in()
//       socket <- to_send()  <- Handshake, later Encrypt <- the sendable part of out()
//
// OpenSSL reads and writes through a BIO whose two ends are the buffers above, so that a connection
// makes one recv and one send a turn, as a plain connection does.
//
// Encrypt takes only plain bytes that the commit gate has made sendable, because no record can be
// taken back.
//
// Threads: one owner at a time.
// Limits: to_send() holds at most kCipherBytesMax bytes of replies, besides alerts and key updates;
// received() holds what its owner puts in; kEmptyReadsMax bounds the records that bring no plain
// byte.
// Errors: kFailed and false are final; if OpenSSL has refused something, an alert is in to_send(),
// and WhyFailed tells the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "net/gated_output.h"
#include "net/tls.h"

namespace rowsocket::net {

class TlsStream {
 public:
  /// Encrypted replies of one connection that wait for the socket.
  static constexpr size_t kCipherBytesMax = 64 * 1024;
  /// How many reads in a row may end with a record without plain bytes while more is received: a
  /// KeyUpdate of 27 bytes costs as much as many requests. Each takes one read, or two if OpenSSL
  /// first answers the one before.
  static constexpr uint32_t kEmptyReadsMax = 32;

  enum class Status : uint8_t {
    kDone,        ///< Handshake: it has ended well. Decrypt: `in` holds as much as it may.
    kNeedsInput,  ///< All of received() is used up.
    kEnd,         ///< The peer has said that it sends no more (close_notify).
    kFailed,
  };

  /// Makes a stream with an object from the context; null if the context has none.
  static std::unique_ptr<TlsStream> Make(const TlsSettings& settings);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Bytes from the socket that are not decrypted yet.
  base::Buffer& received() { return received_; }
  /// Bytes for the socket.
  base::Buffer& to_send() { return to_send_; }
  const base::Buffer& to_send() const { return to_send_; }
  /// How many bytes this object holds in buffers.
  size_t held_bytes() const { return received_.capacity() + to_send_.capacity(); }

  Status Handshake();
  /// Whether Decrypt may find more without another recv.
  bool has_undecrypted() const;
  /// Appends plain bytes to `in`, up to `in_bytes_max` in all. REQUIRES: the handshake is done.
  Status Decrypt(base::Buffer& in, size_t in_bytes_max);
  /// Encrypts sendable bytes of `out` while to_send() has room. False: failed.
  bool Encrypt(GatedOutput& out);
  /// Tells the peer that no more will be sent: adds close_notify to to_send(), once.
  void SayEnd();
  /// Whether the stream has failed or said its end: nothing more is sent then.
  bool has_ended() const { return failed_ || said_end_; }

  /// Why the stream has failed, for the log.
  std::string WhyFailed() const;

  // Facts about the connection. REQUIRES: the handshake is done.
  ssl_st* ssl() const { return ssl_; }
  std::string_view version() const;  ///< "TLSv1.3"
  std::string_view cipher() const;
  /// The subject of the client's certificate, as `/CN=app`; empty without a certificate.
  std::string peer_subject() const;

 private:
  friend struct TlsBio;

  TlsStream() = default;
  bool SetUp(const TlsSettings& settings);
  bool CountEmptyRead();
  Status Fail(int result);

  base::Buffer received_;
  base::Buffer to_send_;
  ssl_st* ssl_ = nullptr;
  unsigned long error_ = 0;   ///< OpenSSL's code of the first error.
  uint32_t empty_reads_ = 0;  ///< Each plain byte takes one of them off the count.
  bool failed_ = false;
  bool said_end_ = false;
};

}  // namespace rowsocket::net
