#include "net/peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include "net/test_sockets.h"
#include "net/unique_fd.h"

namespace rowsocket::net {
namespace {

TEST(Peer, UnixSocketHasAUser) {
  int ends[2];
  ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  const Peer peer = PeerOf(one.get());
  EXPECT_TRUE(peer.is_unix && peer.is_local);
  EXPECT_EQ(getuid(), peer.uid);
  EXPECT_EQ("localhost", AddressText(peer));
}

/// The peer of a connection to a listener of the family.
Peer PeerOver(int family) {
  const UniqueFd listener(socket(family, SOCK_STREAM, 0));
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    auto* const wide = reinterpret_cast<sockaddr_in6*>(&address);
    wide->sin6_addr = in6addr_any;  // Takes IPv4 as well.
  }
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (bind(listener.get(), plain, size) != 0 || listen(listener.get(), 1) != 0) return {};
  getsockname(listener.get(), plain, &size);
  const uint16_t port =
      ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                               : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  const UniqueFd client = ConnectV4(port);
  const UniqueFd accepted(accept(listener.get(), nullptr, nullptr));
  return PeerOf(accepted.get());
}

TEST(Peer, Ipv4MappedIntoIpv6IsIpv4) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Peer peer = PeerOver(family);
    EXPECT_TRUE(peer.is_local) << family;
    EXPECT_FALSE(peer.is_unix);
    EXPECT_EQ(AF_INET, peer.address.ss_family);
    EXPECT_EQ("127.0.0.1", AddressText(peer));
    EXPECT_NE(0, peer.port);
  }
}

TEST(Peer, UnknownPeerIsFromAfar) { EXPECT_FALSE(PeerOf(-1).is_local); }

}  // namespace
}  // namespace rowsocket::net
