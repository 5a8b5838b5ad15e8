#include "net/connection.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/test_allocations.h"
#include "net/test_connection.h"
#include "net/test_sockets.h"

namespace rowsocket::net {
namespace {

using Fixture = ConnectionFixture;
constexpr int kWaitMs = 20'000;

TEST(Connection, ReceivesAndSends) {
  Fixture f(MakeTcpPair());
  EXPECT_EQ(ReceiveStatus::kWouldBlock, f.connection.Receive(kLineBytesMax).status);
  WriteAll(f.client.get(), "request\n");
  const auto received = f.ReceiveNext();
  EXPECT_EQ(ReceiveStatus::kBytes, received.status);
  EXPECT_EQ(8u, received.bytes);
  EXPECT_EQ("request\n", f.connection.in().view());

  f.Reply("0\t1\n");
  const auto sent = f.connection.Send();
  EXPECT_EQ(SendStatus::kDone, sent.status);
  EXPECT_EQ(4u, sent.bytes);
  EXPECT_EQ("0\t1\n", ReadExactly(f.client.get(), 4));
  EXPECT_EQ(SendStatus::kDone, f.connection.Send().status);
  EXPECT_EQ(State::kServing, f.connection.state());
}

TEST(Connection, SendsNothingThatTheGateHolds) {
  Fixture f(MakeUnixPair());
  f.connection.out().bytes().Append("read ");
  f.connection.out().HoldGate();
  f.connection.out().bytes().Append("write ");
  f.connection.out().ReleaseToGate();
  EXPECT_EQ(5u, f.connection.Send().bytes);
  EXPECT_EQ("read ", ReadExactly(f.client.get(), 5));
  EXPECT_EQ(0u, f.connection.Send().bytes);
  EXPECT_TRUE(NothingToRead(f.client.get()));
  EXPECT_EQ(0u, f.connection.WantedEvents() &
                    EPOLLOUT);  // EPOLLOUT would make the loop spin until the commit

  f.connection.out().OpenGate();
  EXPECT_EQ(6u, f.connection.Send().bytes);
  EXPECT_EQ("write ", ReadExactly(f.client.get(), 6));
}

TEST(Connection, InputNeverExceedsTheCallersLimit) {
  Fixture f(MakeUnixPair());
  WriteAll(f.client.get(), Pattern(10'000));
  EXPECT_EQ(ReceiveStatus::kBytes, f.ReceiveNext(100).status);
  EXPECT_EQ(100u, f.connection.in().size());
  EXPECT_EQ(ReceiveStatus::kFull, f.ReceiveNext(100).status);
  EXPECT_EQ(100u, f.connection.in().size());
  f.connection.in().Consume(60);
  EXPECT_EQ(60u, f.ReceiveNext(100).bytes);
  EXPECT_EQ(Pattern(160).substr(60), f.connection.in().view());
}

/// Waits for the loop's events for the connection, and hands them to it.
Connection::Ready Await(EventLoop& loop, Connection& connection, int timeout_ms) {
  Event events[4];
  Connection::Ready ready{false, false};
  for (const Event& event : loop.Wait(events, timeout_ms)) {
    const Connection::Ready now = connection.OnEvents(event.ready());
    ready = {ready.receive || now.receive, ready.send || now.send};
  }
  return ready;
}

TEST(Connection, TellsOfInputOnceAndSaysWhenItHasLeftSome) {
  Fixture f(MakeTcpPair());
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
  WriteAll(f.client.get(), Pattern(150));
  EXPECT_TRUE(Await(loop, f.connection, kWaitMs).receive);
  EXPECT_TRUE(f.ReceiveNext(100).may_have_more);
  EXPECT_TRUE(f.connection.Receive(100).may_have_more) << "full";
  f.connection.in().Consume(100);
  EXPECT_FALSE(Await(loop, f.connection, 0).receive);
  const auto rest = f.connection.Receive(100);
  EXPECT_EQ(50u, rest.bytes);
  EXPECT_FALSE(rest.may_have_more);
  WriteAll(f.client.get(), "more");
  EXPECT_TRUE(Await(loop, f.connection, kWaitMs).receive);
  EXPECT_EQ(4u, f.connection.Receive(100).bytes);
}

TEST(Connection, EndAfterInputIsReceived) {
  for (const bool comes_with_input : {true, false}) {
    Fixture f(MakeTcpPair());
    EventLoop loop;
    ASSERT_TRUE(loop.Open());
    ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
    WriteAll(f.client.get(), "last");
    if (comes_with_input) {
      shutdown(f.client.get(), SHUT_WR);
      ASSERT_TRUE(WaitFor(f.connection.fd(), POLLRDHUP));
    }
    EXPECT_TRUE(Await(loop, f.connection, kWaitMs).receive);
    const auto last = f.ReceiveNext();
    EXPECT_EQ(4u, last.bytes);
    EXPECT_EQ(comes_with_input, last.may_have_more);
    if (!comes_with_input) {
      shutdown(f.client.get(), SHUT_WR);
      EXPECT_TRUE(Await(loop, f.connection, kWaitMs).receive);
    }
    EXPECT_EQ(ReceiveStatus::kEof, f.connection.Receive(kLineBytesMax).status);
    EXPECT_FALSE(f.connection.Receive(kLineBytesMax).may_have_more);
  }
}

TEST(Connection, InputThatCameWhileNoneWasWantedIsToldOf) {
  Fixture f(MakeTcpPair());
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
  f.connection.SetInputWanted(false);
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
  WriteAll(f.client.get(), "held");
  ASSERT_TRUE(WaitFor(f.connection.fd(), POLLIN));
  EXPECT_FALSE(Await(loop, f.connection, 0).receive);
  f.connection.SetInputWanted(true);
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
  EXPECT_TRUE(Await(loop, f.connection, kWaitMs).receive);
}

TEST(Connection, LongLineArrivesWhole) {
  Fixture f(MakeUnixPair());
  const std::string line = Pattern(3'000'000);
  size_t written = 0;
  while (f.connection.in().size() < line.size()) {
    const ssize_t more = send(f.client.get(), line.data() + written, line.size() - written,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (more > 0) written += static_cast<size_t>(more);
    const auto received = f.ReceiveNext();
    ASSERT_EQ(ReceiveStatus::kBytes, received.status);
    ASSERT_LE(received.bytes, BufferPool::kBufferBytesMax);  // one connection's share of a turn
  }
  EXPECT_TRUE(line == f.connection.in().view());
  // A buffer that has grown that much is not kept for other connections.
  f.connection.in().Consume(line.size());
  f.connection.ReleaseEmptyBuffers();
  EXPECT_EQ(0u, f.connection.in().capacity());
  EXPECT_EQ(0u, f.context.buffers.kept_bytes());
}

TEST(Connection, OffersMoreRoomWhenMoreComesAndLessAgain) {
  Fixture f(MakeUnixPair());
  const std::string pipeline = Pattern(100'000);
  WriteAll(f.client.get(), pipeline);
  std::string seen;
  size_t calls = 0;
  for (; seen.size() < pipeline.size(); ++calls) {
    ASSERT_EQ(ReceiveStatus::kBytes, f.ReceiveNext().status);
    seen += f.connection.in().view();
    f.connection.in().Consume(f.connection.in().size());
    f.connection.ReleaseEmptyBuffers();
  }
  EXPECT_TRUE(pipeline == seen);
  EXPECT_LT(calls, 12u);
  EXPECT_GT(calls, 1u);

  for (int i = 0; i < 10; ++i) {
    WriteAll(f.client.get(), "small\n");
    ASSERT_EQ(6u, f.ReceiveNext().bytes);
    f.connection.in().Consume(6);
    f.connection.ReleaseEmptyBuffers();
  }
  while (f.context.buffers.kept_bytes() != 0) f.context.buffers.Take();
  WriteAll(f.client.get(), "small\n");
  ASSERT_EQ(6u, f.ReceiveNext().bytes);
  EXPECT_EQ(BufferPool::kBufferBytes, f.connection.in().capacity());
}

TEST(Connection, RestOfALineAtTheFrontDoesNotGrowTheBuffer) {
  Fixture f(MakeUnixPair());
  for (int i = 0; i < 1000; ++i) {
    WriteAll(f.client.get(), Pattern(1000));
    ASSERT_EQ(1000u, f.ReceiveNext().bytes);
    f.connection.in().Consume(f.connection.in().size() - 100);
  }
  EXPECT_EQ(BufferPool::kBufferBytes, f.connection.in().capacity());
}

TEST(Connection, PartialSendsDeliverEverythingInOrder) {
  Fixture f(MakeTcpPair());
  const int tiny = 1;
  ASSERT_EQ(0, setsockopt(f.connection.fd(), SOL_SOCKET, SO_SNDBUF, &tiny, sizeof(tiny)));
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
  const std::string reply = Pattern(200'000);
  f.Reply(reply);
  const int64_t deadline_ms = base::CoarseNowMs() + kTestTimeoutMs;
  size_t blocked_count = 0;
  std::string seen;
  auto sent = f.connection.Send();
  while (sent.status == SendStatus::kBlocked) {
    ++blocked_count;
    ASSERT_NE(0u, f.connection.WantedEvents() & EPOLLOUT);
    ASSERT_TRUE(f.connection.UpdateInterest(loop, &f.connection));
    std::array<char, 100'000> some;
    const ssize_t received = recv(f.client.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (received > 0) seen.append(some.data(), static_cast<size_t>(received));
    // The client has to go on reading until the server can send, so the Wait below ends after 1 ms.
    std::array<Event, 4> events;
    const auto ready = loop.Wait(events, 1);
    ASSERT_LT(base::CoarseNowMs(), deadline_ms);
    if (ready.empty()) continue;
    ASSERT_EQ(&f.connection, ready[0].tag());
    ASSERT_TRUE(f.connection.OnEvents(ready[0].ready()).send);
    sent = f.connection.Send();
  }
  EXPECT_EQ(SendStatus::kDone, sent.status);
  EXPECT_GT(blocked_count, 1u);
  EXPECT_EQ(0u, f.connection.WantedEvents() & EPOLLOUT);
  seen += ReadExactly(f.client.get(), reply.size() - seen.size());
  EXPECT_TRUE(reply == seen);
}

TEST(Connection, PausesAboveTheLimitAndResumesBelowHalf) {
  Fixture f(MakeUnixPair());
  const int small = 10'000;  // so that no single send takes all unsent bytes from above the limit
  ASSERT_EQ(0, setsockopt(f.connection.fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
  f.context.buffered_bytes_max = 100'000;
  f.connection.out().HoldGate();
  f.connection.out().bytes().Append(Pattern(100'000));
  f.connection.Send();
  EXPECT_EQ(State::kServing, f.connection.state());
  f.connection.out().bytes().Append("x");
  f.connection.Send();
  EXPECT_EQ(State::kPaused, f.connection.state());
  EXPECT_FALSE(f.connection.accepts_work());
  EXPECT_EQ(0u, f.connection.WantedEvents() & EPOLLIN);
  WriteAll(f.client.get(), "more");
  EXPECT_EQ(ReceiveStatus::kWouldBlock, f.ReceiveNext().status);
  EXPECT_FALSE(f.connection.OnEvents(EPOLLIN).receive);

  f.connection.out().OpenGate();
  while (f.connection.state() == State::kPaused) {
    ASSERT_GT(f.connection.out().unsent_bytes(), 50'000u);
    ASSERT_NE(SendStatus::kError, f.connection.Send().status);
    std::array<char, 4000> some;
    ASSERT_GT(recv(f.client.get(), some.data(), some.size(), 0), 0);
  }
  EXPECT_EQ(State::kServing, f.connection.state());
  EXPECT_LE(f.connection.out().unsent_bytes(), 50'000u);
  EXPECT_GT(f.connection.out().unsent_bytes(), 0u);
  EXPECT_TRUE(f.connection.accepts_work());
  EXPECT_EQ(4u, f.ReceiveNext().bytes);
}

TEST(Connection, IdleConnectionHasNoBuffers) {
  Fixture f(MakeUnixPair());
  WriteAll(f.client.get(), "request\nrest of");
  f.ReceiveNext();
  f.Reply("reply");
  f.connection.in().Consume(8);
  f.connection.Send();
  f.connection.ReleaseEmptyBuffers();
  EXPECT_EQ("rest of",
            f.connection.in().view());  // a connection with a part of a line is not idle yet
  EXPECT_EQ(0u, std::as_const(f.connection).out().bytes().capacity());
  f.connection.in().Consume(7);
  f.connection.ReleaseEmptyBuffers();
  EXPECT_EQ(0u, f.connection.in().capacity());
  EXPECT_EQ(2 * BufferPool::kBufferBytes, f.context.buffers.kept_bytes());
}

TEST(Connection, ReleaseEmptyBuffersKeepsUnsentBytes) {
  Fixture f(MakeUnixPair());
  f.connection.out().HoldGate();
  f.connection.out().bytes().Append("write ");
  f.connection.ReleaseEmptyBuffers();
  f.connection.out().OpenGate();
  f.connection.ReleaseEmptyBuffers();
  f.connection.Send();
  EXPECT_EQ("write ", ReadExactly(f.client.get(), 6));
}

TEST(Connection, SteadyStateAllocatesNothing) {
  constexpr size_t kConnections = 64;
  ConnectionContext context;
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  std::vector<UniqueFd> clients;
  std::vector<std::unique_ptr<Connection>> connections;
  for (size_t i = 0; i < kConnections; ++i) {
    SocketPair pair = MakeUnixPair();
    clients.push_back(std::move(pair.client));
    connections.push_back(std::make_unique<Connection>(std::move(pair.server), context));
    ASSERT_TRUE(connections.back()->UpdateInterest(loop, connections.back().get()));
  }
  std::array<Event, kConnections> events;
  size_t allocations_before = 0;
  for (int turn = 0; turn < 100; ++turn) {
    if (turn == 1) allocations_before = AllocationCount();
    for (const UniqueFd& client : clients) {
      ASSERT_EQ(8, send(client.get(), "request\n", 8, MSG_NOSIGNAL));
    }
    const auto ready = loop.Wait(events, kTestTimeoutMs);
    ASSERT_EQ(kConnections, ready.size());
    for (const Event& event : ready) {
      Connection& connection = *static_cast<Connection*>(event.tag());
      ASSERT_TRUE(connection.OnEvents(event.ready()).receive);
      ASSERT_EQ(8u, connection.Receive(kLineBytesMax).bytes);
    }
    for (const auto& connection : connections) {
      connection->out().bytes().Append(connection->in().view());
      connection->in().Consume(8);
      connection->out().ReleaseToGate();
      ASSERT_EQ(8u, connection->Send().bytes);
      connection->ReleaseEmptyBuffers();
      ASSERT_TRUE(connection->UpdateInterest(loop, connection.get()));
    }
    for (const UniqueFd& client : clients) {
      char reply[8];
      ASSERT_EQ(8, recv(client.get(), reply, sizeof(reply), 0));
    }
  }
  EXPECT_GT(allocations_before, kConnections);  // the allocations are counted at all
  EXPECT_EQ(allocations_before, AllocationCount());
}

}  // namespace
}  // namespace rowsocket::net
