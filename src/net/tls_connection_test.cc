// Connections that speak TLS: what differs from connection_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "net/connection.h"
#include "net/test_sockets.h"
#include "net/test_tls.h"

namespace rowsocket::net {
namespace {

using State = Connection::State;
using ReceiveStatus = Connection::ReceiveStatus;
using SendStatus = Connection::SendStatus;
using Shaken = TlsStream::Status;

constexpr size_t kLineBytesMax = 16u << 20;

/// A connection on the server's side of a pair, and a client whose records go through the socket.
class TlsConnectionTest : public ::testing::Test {
 protected:
  TlsConnectionTest() : TlsConnectionTest(MakeTcpPair()) {}
  explicit TlsConnectionTest(SocketPair pair)
      : socket_(std::move(pair.client)),
        connection_(std::make_unique<Connection>(std::move(pair.server), buffers_)) {}

  void SetUp() override {
    client_.Handshake();
    Transmit();
    ASSERT_TRUE(WaitFor(connection_->fd(), POLLIN));
    connection_->Receive(kLineBytesMax);
    connection_->StartTls(TlsStream::Make(TestTlsSettings(context_)));
    Shaken status = connection_->Handshake();
    while (status == Shaken::kNeedsInput) {
      Collect();
      client_.Handshake();
      Transmit();
      ASSERT_TRUE(WaitFor(connection_->fd(), POLLIN));
      status = connection_->Handshake();
    }
    ASSERT_EQ(Shaken::kDone, status);
    Collect();
    client_.Read();
  }

  void Transmit() { WriteAll(socket_.get(), client_.Take()); }
  void SendRecords(std::string_view plain) { WriteAll(socket_.get(), client_.Encrypt(plain)); }
  /// Hands the client what the socket has at this moment. Returns how many bytes those were.
  size_t Collect() {
    char bytes[64 * 1024];
    size_t all = 0;
    for (;;) {
      const ssize_t count = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (count <= 0) return all;
      client_.Give({bytes, static_cast<size_t>(count)});
      all += static_cast<size_t>(count);
    }
  }
  std::string ReadNext() {
    EXPECT_TRUE(WaitFor(socket_.get(), POLLIN));
    Collect();
    return client_.Read();
  }
  void Reply(std::string_view bytes) {
    connection_->out().bytes().Append(bytes);
    connection_->out().ReleaseToGate();
  }
  Connection::Received ReceiveNext(size_t in_bytes_max = kLineBytesMax) {
    EXPECT_TRUE(WaitFor(connection_->fd(), POLLIN));
    return connection_->Receive(in_bytes_max);
  }

  TestTlsContext context_;
  ConnectionContext buffers_;
  TestTlsClient client_;
  UniqueFd socket_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(TlsConnectionTest, RequestsAndRepliesInOneRecordEach) {
  SendRecords("request\n");
  const auto received = ReceiveNext();
  EXPECT_EQ(ReceiveStatus::kBytes, received.status);
  EXPECT_GT(received.bytes, 8u) << "the bytes of the record";
  EXPECT_FALSE(received.may_have_more);
  EXPECT_EQ("request\n", connection_->in().view());
  Reply("0\t1\n");
  const auto sent = connection_->Send();
  EXPECT_EQ(SendStatus::kDone, sent.status);
  EXPECT_GT(sent.bytes, 4u);
  EXPECT_EQ("0\t1\n", ReadNext());
  EXPECT_EQ(State::kServing, connection_->state());
  ASSERT_NE(nullptr, connection_->tls());
  EXPECT_EQ("TLSv1.3", connection_->tls()->version());
}

TEST_F(TlsConnectionTest, SendsNothingThatTheGateHolds) {
  connection_->out().bytes().Append("read ");
  connection_->out().HoldGate();
  connection_->out().bytes().Append("write ");
  EXPECT_GT(connection_->Send().bytes, 0u);
  EXPECT_EQ("read ", ReadNext());
  EXPECT_EQ(0u, connection_->Send().bytes);
  EXPECT_TRUE(NothingToRead(socket_.get()));
  EXPECT_EQ(0u, connection_->WantedEvents() & EPOLLOUT);
  connection_->out().OpenGate();
  connection_->Send();
  EXPECT_EQ("write ", ReadNext());
}

TEST_F(TlsConnectionTest, InputBehindAFullBufferIsNotForgotten) {
  SendRecords(std::string(250, 'a') + "end");
  auto received = ReceiveNext(100);
  EXPECT_TRUE(received.may_have_more);
  EXPECT_EQ(100u, connection_->in().size());
  connection_->in().Consume(100);
  // The socket is empty: no event will come.
  received = connection_->Receive(100);
  EXPECT_EQ(ReceiveStatus::kBytes, received.status);
  EXPECT_TRUE(received.may_have_more);
  connection_->in().Consume(100);
  received = connection_->Receive(100);
  EXPECT_EQ(53u, connection_->in().size());
}

TEST_F(TlsConnectionTest, InputBehindAFullBufferOutlastsAPause) {
  SendRecords(std::string(150, 'a'));
  EXPECT_TRUE(ReceiveNext(100).may_have_more);
  buffers_.buffered_bytes_max = 10;
  connection_->out().HoldGate();
  connection_->out().bytes().Append("more than ten bytes");
  connection_->Send();
  ASSERT_EQ(State::kPaused, connection_->state());
  connection_->in().Consume(100);
  EXPECT_TRUE(connection_->Receive(100).may_have_more) << "no event will tell of it";
  connection_->out().OpenGate();
  connection_->Send();
  ASSERT_EQ(State::kServing, connection_->state());
  connection_->Receive(100);
  EXPECT_EQ(50u, connection_->in().size());
}

TEST_F(TlsConnectionTest, SlowReaderHasFewRecordsWaiting) {
  const int small = 10'000;
  ASSERT_EQ(0, setsockopt(connection_->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
  BufferBudget budget;
  buffers_.budget = &budget;
  const std::string reply(4'000'000, 'r');
  Reply(reply);
  EXPECT_EQ(SendStatus::kBlocked, connection_->Send().status);
  EXPECT_EQ(State::kPaused, connection_->state());
  EXPECT_TRUE(connection_->CountBuffers());
  EXPECT_LE(connection_->tls()->to_send().size(), TlsStream::kCipherBytesMax);
  const size_t plain = connection_->out().bytes().capacity() + connection_->in().capacity();
  EXPECT_GE(budget.held_bytes(), plain + connection_->tls()->to_send().size());
  std::string seen;
  while (seen.size() < reply.size()) {
    // The kernel may keep the room of bytes that the client has read until it learns of that.
    pollfd either[] = {{socket_.get(), POLLIN, 0}, {connection_->fd(), POLLOUT, 0}};
    ASSERT_LT(0, poll(either, 2, kTestTimeoutMs));
    Collect();
    seen += client_.Read();
    ASSERT_NE(SendStatus::kError, connection_->Send().status);
    ASSERT_LE(connection_->tls()->to_send().size(), TlsStream::kCipherBytesMax);
  }
  EXPECT_TRUE(reply == seen);
  EXPECT_EQ(State::kServing, connection_->state());
  connection_->ReleaseEmptyBuffers();
  connection_->CountBuffers();
  EXPECT_EQ(0u, budget.held_bytes());
}

TEST_F(TlsConnectionTest, LongReplyGoesOnWithoutAnotherRequest) {
  EventLoop loop;
  ASSERT_TRUE(loop.Open());
  ASSERT_TRUE(connection_->UpdateInterest(loop, connection_.get()));
  const std::string reply(8'000'000, 'r');
  Reply(reply);
  std::string seen;
  auto sent = connection_->Send();
  while (sent.status == SendStatus::kBlocked) {
    ASSERT_TRUE(connection_->UpdateInterest(loop, connection_.get()));
    Collect();
    seen += client_.Read();
    Event events[4];
    const auto ready = loop.Wait(events, kTestTimeoutMs);
    ASSERT_EQ(1u, ready.size()) << "an edge was missed";
    if (connection_->OnEvents(ready[0].ready()).send) sent = connection_->Send();
  }
  while (seen.size() < reply.size()) seen += ReadNext();
  EXPECT_TRUE(reply == seen);
}

TEST_F(TlsConnectionTest, ClientThatEndsGetsItsAnswersAndAnEnd) {
  SendRecords("last\n");
  WriteAll(socket_.get(), client_.SayEnd());
  shutdown(socket_.get(), SHUT_WR);
  ASSERT_TRUE(WaitFor(connection_->fd(), POLLRDHUP));
  EXPECT_EQ(ReceiveStatus::kEof, ReceiveNext().status);
  EXPECT_EQ("last\n", connection_->in().view());
  EXPECT_EQ(State::kDraining, connection_->state());
  EXPECT_TRUE(connection_->accepts_work());
  Reply("0\t1\n");
  EXPECT_FALSE(connection_->finished());
  connection_->Send();
  EXPECT_TRUE(connection_->finished());
  connection_.reset();
  EXPECT_EQ("0\t1\n", ReadNext());
  EXPECT_TRUE(client_.ServerHasEnded());
}

TEST_F(TlsConnectionTest, EndWithoutCloseNotifyIsAnEnd) {
  SendRecords("last\n");
  shutdown(socket_.get(), SHUT_WR);
  ASSERT_EQ(ReceiveStatus::kBytes, ReceiveNext().status);
  EXPECT_EQ(ReceiveStatus::kEof, ReceiveNext().status);
  EXPECT_EQ(State::kDraining, connection_->state());
  EXPECT_EQ("last\n", connection_->in().view());
}

TEST_F(TlsConnectionTest, LastReplySurvivesUnreadInput) {
  SendRecords(std::string(50'000, 'x'));
  ASSERT_EQ(ReceiveStatus::kBytes, ReceiveNext(100).status);
  Reply("2\t1\tcmd\n");
  connection_->Finish();
  EXPECT_EQ(SendStatus::kDone, connection_->Send().status);
  EXPECT_FALSE(connection_->finished());
  EXPECT_EQ("2\t1\tcmd\n", ReadNext());
  EXPECT_TRUE(client_.ServerHasEnded());
  EXPECT_TRUE(AtEnd(socket_.get()));
  socket_.Reset();
  while (ReceiveNext().status == ReceiveStatus::kWouldBlock) EXPECT_TRUE(connection_->in().empty());
  EXPECT_TRUE(connection_->finished());
}

TEST_F(TlsConnectionTest, GarbageBreaksItWithAnAlert) {
  WriteAll(socket_.get(), "this is no record");
  EXPECT_EQ(ReceiveStatus::kError, ReceiveNext().status);
  EXPECT_EQ(State::kBroken, connection_->state());
  EXPECT_GT(Collect(), 0u);
}

TEST_F(TlsConnectionTest, IdleConnectionHasNoBuffers) {
  SendRecords("request\n");
  ReceiveNext();
  connection_->in().Consume(8);
  Reply("reply");
  connection_->Send();
  connection_->ReleaseEmptyBuffers();
  EXPECT_EQ(0u, connection_->in().capacity());
  EXPECT_EQ(0u, std::as_const(*connection_).out().bytes().capacity());
  EXPECT_EQ(0u, connection_->tls()->held_bytes());
}

}  // namespace
}  // namespace rowsocket::net
