#include "net/buffer_budget.h"

#include <gtest/gtest.h>

#include <string>

#include "net/connection.h"
#include "net/test_sockets.h"

namespace rowsocket::net {
namespace {

constexpr size_t kLarge = 1u << 20;

struct Ends {
  explicit Ends(ConnectionContext& context) : Ends(MakeUnixPair(), context) {}
  Ends(SocketPair sockets, ConnectionContext& context)
      : client(std::move(sockets.client)), connection(std::move(sockets.server), context) {}

  bool Answer(size_t bytes) {
    connection.out().bytes().Append(std::string(bytes, 'x'));
    connection.out().ReleaseToGate();
    connection.ReleaseEmptyBuffers();
    return connection.CountBuffers();
  }

  UniqueFd client;
  Connection connection;
};

TEST(BufferBudget, CountsBufferedBytesUntilTheyAreSentOrTheConnectionGoes) {
  BufferBudget budget;
  budget.SetMax(3 * kLarge);
  ConnectionContext context;
  context.budget = &budget;
  Ends small(context);
  {
    Ends large(context);
    EXPECT_TRUE(large.Answer(kLarge));
    EXPECT_LE(kLarge, budget.held_bytes());
    EXPECT_TRUE(small.Answer(10));
    EXPECT_LT(kLarge, budget.held_bytes());
    ASSERT_EQ(Connection::SendStatus::kDone, small.connection.Send().status);
    small.connection.ReleaseEmptyBuffers();
    EXPECT_TRUE(small.connection.CountBuffers());
  }
  EXPECT_EQ(0u, budget.held_bytes());
}

TEST(BufferBudget, SmallBuffersMayStayWhereAllConnectionsHoldTooMuch) {
  BufferBudget budget;
  budget.SetMax(kLarge);
  ConnectionContext context;
  context.budget = &budget;
  Ends first(context), second(context), small(context);
  EXPECT_TRUE(first.Answer(kLarge / 2));
  EXPECT_FALSE(second.Answer(kLarge));
  EXPECT_TRUE(small.Answer(BufferPool::kBufferBytesMax / 2));
  // The connection that is to be closed no longer counts.
  EXPECT_TRUE(first.connection.CountBuffers());
  EXPECT_LT(budget.held_bytes(), kLarge);
}

TEST(BufferBudget, CountsWhatTheOwnerHoldsForAConnection) {
  BufferBudget budget;
  budget.SetMax(kLarge);
  ConnectionContext context;
  context.budget = &budget;
  {
    Ends small(context), large(context);
    EXPECT_TRUE(small.connection.CountBuffers(100));
    EXPECT_EQ(100u, budget.held_bytes());
    EXPECT_FALSE(large.connection.CountBuffers(kLarge));
    EXPECT_EQ(100u, budget.held_bytes());
    EXPECT_TRUE(large.connection.CountBuffers(200));
    EXPECT_EQ(200u, large.connection.held_bytes());
    EXPECT_TRUE(large.connection.CountBuffers());
    EXPECT_EQ(100u, budget.held_bytes());
  }
  EXPECT_EQ(0u, budget.held_bytes());
}

TEST(BufferBudget, CountsRequestsThatDoNotEnd) {
  BufferBudget budget;
  budget.SetMax(kLarge);
  ConnectionContext context;
  context.budget = &budget;
  Ends ends(context);
  bool fits = true;
  for (size_t sent = 0; sent < 2 * kLarge && fits; sent += 10'000) {
    WriteAll(ends.client.get(), std::string(10'000, 'x'));
    while (ends.connection.Receive(4 * kLarge).bytes != 0) {
    }
    ends.connection.ReleaseEmptyBuffers();
    fits = ends.connection.CountBuffers();
  }
  EXPECT_FALSE(fits);
  EXPECT_LE(ends.connection.in().size(), kLarge + 10'000);
}

}  // namespace
}  // namespace rowsocket::net
