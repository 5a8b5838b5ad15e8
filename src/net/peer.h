// The two ends of a socket, as far as the kernel knows them.
//
// Threads: pure functions of a descriptor.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

namespace rowsocket::net {

struct Peer {
  bool is_unix = false;
  /// No other machine can see the bytes: a UNIX socket, or a loopback address.
  bool is_local = false;
  uid_t uid = 0;  ///< For a UNIX socket: the user of the process that has connected.
  /// For TCP; an IPv4 address that is mapped into IPv6 is an IPv4 address here.
  sockaddr_storage address{};
  uint16_t port = 0;
};

/// The peer of a socket. A peer that is no longer known counts as TCP from another machine.
Peer PeerOf(int fd);

/// This machine's end of a socket, without `uid`.
Peer OwnEndOf(int fd);

/// The address as text without the port, "localhost" for a UNIX socket.
std::string AddressText(const Peer& peer);

}  // namespace rowsocket::net
