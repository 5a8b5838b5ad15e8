#include "exec/connection_book.h"

#include <gtest/gtest.h>
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
