#include "exec/connection_book.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace rowsocket::exec {
namespace {

class ConnectionBookTest : public testing::Test {
 protected:
  ConnectionBookTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~ConnectionBookTest() override {
    for (const int end : ends_) close(end);
  }

  bool PeerHasEnded() const {
    char byte;
    return recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }

  std::array<int, 2> ends_{};
  ConnectionBook book_;
};

TEST_F(ConnectionBookTest, AConnectionIsEndedByItsNumber) {
  const uint64_t id = book_.Enter(ends_[0], "resp", "mode=rw");
  EXPECT_TRUE(book_.Has("resp", id));
  EXPECT_FALSE(PeerHasEnded());
  EXPECT_TRUE(book_.End("resp", id));
  EXPECT_TRUE(PeerHasEnded());
}

TEST_F(ConnectionBookTest, OnePluginDoesNotEndTheConnectionsOfAnother) {
  const uint64_t id = book_.Enter(ends_[0], "resp", "mode=rw");
  EXPECT_FALSE(book_.Has("handlersocket", id));
  EXPECT_FALSE(book_.End("handlersocket", id));
  EXPECT_FALSE(book_.End("resp", id + 1));
  EXPECT_FALSE(PeerHasEnded());
}

// The number of a descriptor is used again, that of a connection is not.
TEST_F(ConnectionBookTest, ANumberIsNeverUsedAgain) {
  const uint64_t first = book_.Enter(ends_[0], "resp", "mode=rw");
  book_.Leave(first);
  const uint64_t second = book_.Enter(ends_[0], "resp", "mode=rw");
  EXPECT_NE(first, second);
  EXPECT_FALSE(book_.End("resp", first));
  EXPECT_FALSE(PeerHasEnded());
  EXPECT_EQ(book_.AddressOf(first), "");
  EXPECT_EQ(book_.AddressOf(second), "localhost");
}

// The kernel forgets the address of a client that resets its connection.
TEST_F(ConnectionBookTest, TheAddressOutlivesTheClientsEnd) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, any, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, any, &size), 0);
  ASSERT_EQ(connect(client, any, size), 0);
  ASSERT_EQ(getsockname(client, any, &size), 0);
  const int served = accept(listener, nullptr, nullptr);
  const uint64_t id = book_.Enter(served, "resp", "mode=rw");
  const std::string shown = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(book_.AddressOf(id), shown);
  const linger resets{1, 0};
  setsockopt(client, SOL_SOCKET, SO_LINGER, &resets, sizeof(resets));
  close(client);
  char byte;
  EXPECT_LT(recv(served, &byte, 1, 0), 0) << "the reset";
  EXPECT_EQ(book_.AddressOf(id), shown);
  const std::vector<ConnectionInfo> others = book_.Others("resp", {});
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].address, "127.0.0.1");
  EXPECT_EQ(others[0].port, ntohs(address.sin_port));
  close(served);
  close(listener);
}

TEST_F(ConnectionBookTest, ThoseOfABusyWorkerAreListed) {
  const uint64_t first = book_.Enter(ends_[0], "resp", "mode=rw");
  const uint64_t second = book_.Enter(ends_[1], "resp", "mode=rd");
  book_.Enter(ends_[1], "handlersocket", "mode=rd");
  ConnectionInfo known;
  known.id = first;
  const std::vector<ConnectionInfo> others = book_.Others("resp", {known});
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].id, second);
  EXPECT_EQ(others[0].mode, "mode=rd");
  EXPECT_EQ(others[0].state, kUnknownState);
}

TEST_F(ConnectionBookTest, AHandshakeIsNoBusyWorker) {
  const auto state = [this] { return book_.Others("resp", {}).at(0).state; };
  const uint64_t id = book_.Enter(ends_[0], "resp", "mode=rw");
  EXPECT_EQ(state(), kUnknownState);
  book_.SetHandshake(id, true);
  EXPECT_EQ(state(), kHandshakeState);
  book_.SetHandshake(id, false);
  EXPECT_EQ(state(), kUnknownState);
  book_.SetHandshake(id + 1, true);
  EXPECT_EQ(state(), kUnknownState);
}

TEST_F(ConnectionBookTest, ABookedConnectionLeavesAtItsEnd) {
  uint64_t id = 0;
  {
    BookedConnection booked;
    booked.Enter(ends_[0], "resp", "mode=rw");
    id = booked.id();
    EXPECT_TRUE(ConnectionBook::Shared().Has("resp", id));
  }
  EXPECT_FALSE(ConnectionBook::Shared().Has("resp", id));
}

}  // namespace
}  // namespace rowsocket::exec
