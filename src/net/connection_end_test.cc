// How a connection ends: by its client, or by the server after the last reply.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "net/connection.h"
#include "net/event_loop.h"
#include "net/test_connection.h"
#include "net/test_sockets.h"

namespace rowsocket::net {
namespace {

using Fixture = ConnectionFixture;

TEST(Connection, HalfClosedClientGetsItsAnswers) {
  Fixture f(MakeTcpPair());
  WriteAll(f.client.get(), "last\n");
  shutdown(f.client.get(), SHUT_WR);
  ASSERT_EQ(ReceiveStatus::kBytes, f.ReceiveNext().status);
  EXPECT_EQ(State::kServing, f.connection.state());
  ASSERT_EQ(ReceiveStatus::kEof, f.ReceiveNext().status);
  EXPECT_EQ(State::kDraining, f.connection.state());
  EXPECT_EQ("last\n", f.connection.in().view());
  EXPECT_TRUE(f.connection.accepts_work());
  EXPECT_EQ(0u,
            f.connection.WantedEvents());  // a level-triggered loop would report the end for ever
  f.connection.out().HoldGate();
  f.connection.out().bytes().Append("0\t1\n");
  EXPECT_FALSE(f.connection.finished());
  f.connection.out().OpenGate();
  f.connection.Send();
  EXPECT_TRUE(f.connection.finished());
  EXPECT_EQ("0\t1\n", ReadExactly(f.client.get(), 4));
}

TEST(Connection, ClientThatOnlyConnectsAndClosesIsFinished) {
  Fixture f(MakeTcpPair());
  f.client.Reset();
  EXPECT_EQ(ReceiveStatus::kEof, f.ReceiveNext().status);
  EXPECT_TRUE(f.connection.finished());
}

TEST(Connection, ResetBreaksIt) {
  Fixture f(MakeTcpPair());
  WriteAll(f.client.get(), "x");
  ASSERT_EQ(ReceiveStatus::kBytes, f.ReceiveNext().status);
  f.Reply("answer");
  CloseWithReset(f.client);
  EXPECT_EQ(ReceiveStatus::kError, f.ReceiveNext().status);
  EXPECT_EQ(State::kBroken, f.connection.state());
  EXPECT_TRUE(f.connection.finished());
  EXPECT_EQ(ReceiveStatus::kError, f.connection.Receive(kLineBytesMax).status);
  EXPECT_EQ(SendStatus::kError, f.connection.Send().status);
  EXPECT_EQ(0u, f.connection.WantedEvents());
}

TEST(Connection, SendingToAClosedPeerRaisesNoSignal) {
  Fixture f(MakeUnixPair());
  f.client.Reset();
  f.Reply("answer");
  EXPECT_EQ(SendStatus::kError, f.connection.Send().status);
  EXPECT_EQ(State::kBroken, f.connection.state());
}

TEST(Connection, ResetIsNoticedWhileNoInputIsWanted) {
  Fixture f(MakeTcpPair());
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  f.connection.SetInputWanted(false);
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f));
  WriteAll(f.client.get(), "waits");
  EXPECT_FALSE(f.connection.OnEvents(EPOLLIN).receive);
  CloseWithReset(f.client);
  std::array<Event, 4> events;
  const auto ready = loop.Wait(events, kTestTimeoutMs);
  ASSERT_EQ(1u, ready.size());
  const auto todo = f.connection.OnEvents(ready[0].ready());
  EXPECT_FALSE(todo.receive || todo.send);
  EXPECT_TRUE(f.connection.finished());
  // The object may have to outlive a request under way, without keeping the loop spinning.
  EXPECT_EQ(1u, loop.Wait(events, 0).size());
  EXPECT_TRUE(f.connection.UpdateInterest(loop, &f));
  EXPECT_TRUE(loop.Wait(events, 0).empty());
}

TEST(Connection, InputIsReadWhenItIsWantedAgain) {
  Fixture f(MakeUnixPair());
  f.connection.SetInputWanted(false);
  WriteAll(f.client.get(), "later");
  EXPECT_EQ(ReceiveStatus::kWouldBlock, f.ReceiveNext().status);
  f.connection.SetInputWanted(true);
  EXPECT_EQ(5u, f.ReceiveNext().bytes);
}

TEST(Connection, BytesBeforeAHangUpAreStillRead) {
  Fixture f(MakeUnixPair());
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  ASSERT_TRUE(f.connection.UpdateInterest(loop, &f));
  WriteAll(f.client.get(), "fire and forget\n");
  f.client.Reset();
  std::array<Event, 4> events;
  auto ready = loop.Wait(events, kTestTimeoutMs);
  ASSERT_EQ(1u, ready.size());
  ASSERT_NE(0u, ready[0].ready() & EPOLLHUP);
  ASSERT_TRUE(f.connection.OnEvents(ready[0].ready()).receive);
  EXPECT_EQ(16u, f.connection.Receive(kLineBytesMax).bytes);
  EXPECT_EQ(ReceiveStatus::kEof, f.connection.Receive(kLineBytesMax).status);
}

TEST(Connection, LastReplySurvivesUnreadInput) {
  Fixture f(MakeTcpPair());
  // The client sends more than the server ever reads: to close the socket on top of these bytes
  // would reset the connection.
  WriteAll(f.client.get(), Pattern(50'000));
  ASSERT_EQ(ReceiveStatus::kBytes, f.ReceiveNext(100).status);
  f.Reply("2\t1\tcmd\n");
  f.connection.Finish();
  EXPECT_EQ(State::kLingering, f.connection.state());
  EXPECT_FALSE(f.connection.accepts_work());
  EXPECT_TRUE(f.connection.in().empty());
  EXPECT_EQ(SendStatus::kDone, f.connection.Send().status);
  EXPECT_FALSE(f.connection.finished());
  EXPECT_EQ("2\t1\tcmd\n", ReadExactly(f.client.get(), 8));
  EXPECT_TRUE(AtEnd(f.client.get()));  // not a reset
  f.client.Reset();
  // A close with nothing unread is an orderly end, so the server throws all the bytes away and sees
  // the end.
  while (f.ReceiveNext().status == ReceiveStatus::kWouldBlock) {
    EXPECT_TRUE(f.connection.in().empty());
  }
  EXPECT_TRUE(f.connection.finished());
}

/// The client of a lingering connection sends until it has sent more than a lingering connection
/// takes.
void ExpectResetAfterLimit(Fixture& f) {
  const std::string more = Pattern(16 * 1024);
  size_t taken = 0;
  for (; taken <= Connection::kLingerBytesMax; taken += more.size()) {
    ASSERT_EQ(State::kLingering, f.connection.state()) << taken;
    WriteAll(f.client.get(), more);
    f.ReceiveNext();
  }
  EXPECT_EQ(State::kBroken, f.connection.state());
  EXPECT_TRUE(f.connection.finished());
}

TEST(Connection, AClientThatGoesOnSendingIsReset) {
  Fixture f(MakeUnixPair());
  f.Reply("2\t1\tcmd\n");
  f.connection.Finish();
  EXPECT_EQ(SendStatus::kDone, f.connection.Send().status);
  ExpectResetAfterLimit(f);
}

TEST(Connection, AClientThatTakesNoReplyAndGoesOnSendingIsReset) {
  Fixture f(MakeUnixPair());
  f.Reply(Pattern(16u << 20));
  f.connection.Finish();
  EXPECT_EQ(SendStatus::kBlocked, f.connection.Send().status);
  ExpectResetAfterLimit(f);
}

// An early end would tell the client that a request without a reply was executed, before its
// commit.
TEST(Connection, TheEndLeavesWithSend) {
  for (const bool has_reply : {false, true}) {
    Fixture f(MakeUnixPair());
    if (has_reply) f.Reply("bye ");
    f.connection.Finish();
    EXPECT_EQ(State::kLingering, f.connection.state());
    EXPECT_TRUE(NothingToRead(f.client.get()));
    EXPECT_EQ(SendStatus::kDone, f.connection.Send().status);
    if (has_reply) {
      EXPECT_EQ("bye ", ReadExactly(f.client.get(), 4));
    }
    EXPECT_TRUE(AtEnd(f.client.get()));
  }
}

TEST(Connection, FinishWaitsForTheGate) {
  Fixture f(MakeUnixPair());
  f.connection.out().HoldGate();
  f.connection.out().bytes().Append("write ");
  f.connection.Finish();
  f.connection.Send();
  EXPECT_TRUE(NothingToRead(f.client.get()));
  f.connection.out().OpenGate();
  f.connection.Send();
  EXPECT_EQ("write ", ReadExactly(f.client.get(), 6));
  EXPECT_TRUE(AtEnd(f.client.get()));
}

}  // namespace
}  // namespace rowsocket::net
