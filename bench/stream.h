// A connection of a stream protocol, plain or TLS.
//
// Threads: one owner at a time.
// Errors: as send and recv, with errno; a failure of TLS is EPROTO.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "bench/options.h"
#include "net/unique_fd.h"

struct ssl_st;  // OpenSSL's SSL

namespace rowsocket::bench {

class Stream {
 public:
  /// Connects to the address in the options, and does the TLS handshake if they ask for TLS; waits
  /// for both. Not valid, with errno, when that fails.
  static Stream Open(const Options& options);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  void Close() {
    ssl_.reset();
    fd_.Reset();
  }

  ssize_t Send(const char* bytes, size_t count);
  bool SendAll(const char* bytes, size_t count);
  ssize_t Receive(char* bytes, size_t count);
  /// Whether Receive may have bytes that no event of the descriptor reports.
  bool has_pending() const;

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };
  ssize_t Result(int result, size_t count) const;

  net::UniqueFd fd_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;  ///< Null: plain.
};

}  // namespace rowsocket::bench
