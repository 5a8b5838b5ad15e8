// A connection whose client is a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "net/connection.h"
#include "net/test_sockets.h"

namespace rowsocket::net {

using State = Connection::State;
using ReceiveStatus = Connection::ReceiveStatus;
using SendStatus = Connection::SendStatus;

inline constexpr size_t kLineBytesMax = 16u << 20;

/// Bytes in which a loss, a repetition or a swap shows.
inline std::string Pattern(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

/// A connection on the pair's server side.
struct ConnectionFixture {
  explicit ConnectionFixture(SocketPair sockets)
      : client(std::move(sockets.client)), connection(std::move(sockets.server), context) {}

  void Reply(std::string_view bytes) {
    connection.out().bytes().Append(bytes);
    connection.out().ReleaseToGate();
  }
  /// Waits until the kernel has something to say to the server's side, then receives.
  Connection::Received ReceiveNext(size_t in_bytes_max = kLineBytesMax) {
    EXPECT_TRUE(WaitFor(connection.fd(), POLLIN));
    return connection.Receive(in_bytes_max);
  }

  ConnectionContext context;
  UniqueFd client;
  Connection connection;
};

}  // namespace rowsocket::net
