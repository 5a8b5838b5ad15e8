// Sockets for the tests of this folder: connected pairs, and reads that wait for the bytes that
// must come.
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>

#include "net/unique_fd.h"

namespace rowsocket::net {

/// Far longer than anything in these tests takes: a test that waits this long has failed.
inline constexpr int kTestTimeoutMs = 20'000;

struct SocketPair {
  UniqueFd server;  ///< Nonblocking.
  UniqueFd client;  ///< Blocking.
};

inline SocketPair MakeUnixPair() {
  int fds[2];
  EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
  SocketPair pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
  const timeval limit{kTestTimeoutMs / 1000, 0};
  setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  EXPECT_EQ(0, fcntl(fds[0], F_SETFL, O_NONBLOCK));
  return pair;
}

/// A connected, blocking client of a loopback listener; invalid when refused.
inline UniqueFd ConnectV4(uint16_t port) {
  UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{kTestTimeoutMs / 1000, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)) != 0) {
    client.Reset();
  }
  return client;
}

inline bool WaitFor(int fd, short events) {
  pollfd wait{fd, events, 0};
  return poll(&wait, 1, kTestTimeoutMs) == 1;
}

inline SocketPair MakeTcpPair() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  EXPECT_EQ(0, bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size));
  EXPECT_EQ(0, listen(listener.get(), 1));
  EXPECT_EQ(0, getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size));
  UniqueFd client = ConnectV4(ntohs(where.sin_port));
  EXPECT_TRUE(client.valid());
  UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(server.valid());
  return {std::move(server), std::move(client)};
}

inline void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(written, 0);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

/// Reads exactly `count` bytes; fewer at the end of the stream or on an error.
inline std::string ReadExactly(int fd, size_t count) {
  std::string bytes(count, '\0');
  size_t have = 0;
  while (have < count) {
    const ssize_t received = recv(fd, bytes.data() + have, count - have, 0);
    if (received <= 0) break;
    have += static_cast<size_t>(received);
  }
  bytes.resize(have);
  return bytes;
}

/// Whether there is nothing to read at this moment, and not the end either.
inline bool NothingToRead(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

inline bool AtEnd(int fd) {
  char byte;
  return recv(fd, &byte, 1, 0) == 0;
}

/// Closes the socket so that the peer gets a reset.
inline void CloseWithReset(UniqueFd& fd) {
  const linger now{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd.Reset();
}

}  // namespace rowsocket::net
