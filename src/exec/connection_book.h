// The open connections of all ports, by the numbers under which operators and clients name them.
//
// Flow: a connection that is kept enters the book, and leaves it before its socket is closed; so
//       whoever ends a connection, or asks for its address, finds an open socket or nothing.
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "exec/connection_list.h"

namespace rowsocket::exec {

class ConnectionBook {
 public:
  /// The one book of the library: numbers are unique in a server, whichever plugin serves a
  /// connection.
  static ConnectionBook& Shared();

  /// Adds a connection and returns its number, which is never used again. `plugin`: the name of the
  /// plugin whose port took the connection; static.
  uint64_t Enter(int fd, const char* plugin, const std::string& mode);
  void Leave(uint64_t id);
  /// Notes whether the handshake thread has the connection, in which case no worker knows it.
  void SetHandshake(uint64_t id, bool is_in_handshake);

  bool Has(const char* plugin, uint64_t id);
  /// Shuts the socket down, so that its worker closes the connection as if the client had gone.
  /// False: the plugin has no such connection.
  bool End(const char* plugin, uint64_t id);
  /// "address:port" of the client, or "localhost" for a UNIX socket, as it was when the connection
  /// entered: the address of a client that has reset the connection is still there. Empty: there is
  /// no such connection.
  std::string AddressOf(uint64_t id);
  /// The address and port of this server's end of the connection, as AddressOf gives the client's.
  std::string OwnAddressOf(uint64_t id);
  /// The connections of a plugin that are not in `known`, with what the book knows of them.
  std::vector<ConnectionInfo> Others(const char* plugin, const std::vector<ConnectionInfo>& known,
                                     bool has_addresses = true);

 private:
  struct Entry {
    int fd;
    const char* plugin;
    std::string mode;
    std::string address;  ///< The client's address, as AddressOf writes it.
    bool is_in_handshake = false;
  };
  /// Null: the plugin has no such connection.
  const Entry* Find(const char* plugin, uint64_t id) REQUIRES(mutex_);

  base::Mutex mutex_;
  uint64_t last_id_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Entry> entries_ GUARDED_BY(mutex_);
};

/// A connection's place in the book, which ends with the connection.
class BookedConnection {
 public:
  BookedConnection() = default;
  ~BookedConnection() {
    if (id_ != 0) ConnectionBook::Shared().Leave(id_);
  }
  BookedConnection(const BookedConnection&) = delete;
  BookedConnection& operator=(const BookedConnection&) = delete;

  void Enter(int fd, const char* plugin, const std::string& mode) {
    id_ = ConnectionBook::Shared().Enter(fd, plugin, mode);
  }
  void SetHandshake(bool is_in_handshake) const {
    ConnectionBook::Shared().SetHandshake(id_, is_in_handshake);
  }
  uint64_t id() const { return id_; }

 private:
  uint64_t id_ = 0;
};

}  // namespace rowsocket::exec
