// A listening socket, TCP or UNIX, and the connections that arrive on it.
//
// Threads: Accept may be called by several threads at once, everything else by the owner.
// Lifetime: closing a UNIX listener removes its socket file, unless somebody has replaced the file.
// Errors: texts for the server's log; each names the address, the cause and the variable to change.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/unique_fd.h"

namespace rowsocket::net {

struct ListenOptions {
  int backlog = 32768;           ///< The kernel cuts it down to net.core.somaxconn.
  int send_buffer_bytes = 0;     ///< SO_SNDBUF of accepted sockets; 0: the kernel's default.
  int receive_buffer_bytes = 0;  ///< SO_RCVBUF of accepted sockets; 0: the kernel's default.
  mode_t unix_mode = 0770;       ///< Permissions of the socket file.
  VariableNames variables;
};

class Listener {
 public:
  enum class AcceptStatus : uint8_t {
    kAccepted,     ///< The accepted connection is in `fd`.
    kNone,         ///< No connection waits.
    kTransient,    ///< A connection went away or failed; another connection may wait: try again.
    kNoResources,  ///< No file descriptor or memory, as `error` says: take the listener out of the
                   ///< event loop for a while (it stays readable and would keep the loop spinning).
    kBroken,       ///< The listener itself is unusable: take it out of the event loop for good.
  };
  struct Accepted {
    AcceptStatus status;
    UniqueFd fd;    ///< Nonblocking, close-on-exec, TCP_NODELAY.
    int error = 0;  ///< errno of the failures.
  };

  struct OpenError {
    std::string text;
    /// The machine lacks the address family, or, of IPv6, this address.
    bool machine_lacks_address = false;
  };

  /// Binds and listens.
  static std::optional<Listener> Open(const Address& address, const ListenOptions& options,
                                      OpenError* error);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) noexcept;
  ~Listener() { Close(); }

  Accepted Accept() const;
  void Close();
  /// Refuses connections from now on, those that wait for Accept included. Any thread may call it.
  void ShutDown() const;
  /// Frees the address for another listener. The descriptor stays valid until Close, but Accept
  /// returns kBroken.
  void FreeAddress() const;

  int fd() const { return fd_.get(); }
  /// The address to which the socket is bound; if its port was 0, with the port that the kernel has
  /// chosen.
  const Address& address() const { return address_; }

 private:
  explicit Listener(const Address& address) : address_(address) {}
  bool OpenTcp(const ListenOptions& options, OpenError* error);
  bool OpenUnix(const ListenOptions& options, OpenError* error);
  void RemoveFile() const;

  Address address_;
  UniqueFd fd_;
  // The device and inode of the socket file that this listener has made.
  dev_t file_device_ = 0;
  ino_t file_inode_ = 0;
};

/// Opens all of `addresses`. Addresses that may be skipped, and that the machine lacks, are listed
/// in `*notes`; any other failure, or no address left to listen on, fails the whole call.
std::optional<std::vector<Listener>> OpenListeners(const std::vector<Address>& addresses,
                                                   const ListenOptions& options,
                                                   std::vector<std::string>* notes,
                                                   std::string* error);

}  // namespace rowsocket::net
