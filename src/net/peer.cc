#include "net/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

namespace rowsocket::net {

namespace {

/// The first byte of 127.0.0.0/8.
constexpr uint32_t kLoopbackByte = 127;

void SetIpv4(const in_addr& address, in_port_t port, Peer* peer) {
  sockaddr_in plain{};
  plain.sin_family = AF_INET;
  plain.sin_addr = address;
  plain.sin_port = port;
  peer->address = {};
  memcpy(&peer->address, &plain, sizeof(plain));
  peer->port = ntohs(port);
  peer->is_local = ntohl(address.s_addr) >> 24 == kLoopbackByte;
}

void SetIpv6(const sockaddr_in6& given, Peer* peer) {
  if (IN6_IS_ADDR_V4MAPPED(&given.sin6_addr)) {
    in_addr mapped{};
    memcpy(&mapped, &given.sin6_addr.s6_addr[12], sizeof(mapped));
    return SetIpv4(mapped, given.sin6_port, peer);
  }
  memcpy(&peer->address, &given, sizeof(given));
  peer->port = ntohs(given.sin6_port);
  peer->is_local = IN6_IS_ADDR_LOOPBACK(&given.sin6_addr);
}

Peer From(const sockaddr_storage& given) {
  Peer peer;
  if (given.ss_family == AF_INET) {
    sockaddr_in plain{};
    memcpy(&plain, &given, sizeof(plain));
    SetIpv4(plain.sin_addr, plain.sin_port, &peer);
  } else if (given.ss_family == AF_INET6) {
    sockaddr_in6 wide{};
    memcpy(&wide, &given, sizeof(wide));
    SetIpv6(wide, &peer);
  } else if (given.ss_family == AF_UNIX) {
    peer.is_unix = peer.is_local = true;
    peer.address.ss_family = AF_UNIX;
  }
  return peer;
}

}  // namespace

Peer PeerOf(int fd) {
  sockaddr_storage given{};
  socklen_t size = sizeof(given);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&given), &size) != 0) return {};
  Peer peer = From(given);
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (peer.is_unix && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) == 0)
    peer.uid = credentials.uid;
  return peer;
}

Peer OwnEndOf(int fd) {
  sockaddr_storage given{};
  socklen_t size = sizeof(given);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&given), &size) != 0) return {};
  return From(given);
}

std::string AddressText(const Peer& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.is_unix) return "localhost";
  if (peer.address.ss_family == AF_INET) {
    sockaddr_in plain{};
    memcpy(&plain, &peer.address, sizeof(plain));
    inet_ntop(AF_INET, &plain.sin_addr, text, sizeof(text));
  } else if (peer.address.ss_family == AF_INET6) {
    sockaddr_in6 wide{};
    memcpy(&wide, &peer.address, sizeof(wide));
    inet_ntop(AF_INET6, &wide.sin6_addr, text, sizeof(text));
  }
  return text;
}

}  // namespace rowsocket::net
