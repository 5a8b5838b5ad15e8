#include "net/tls_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "net/test_tls.h"

namespace rowsocket::net {
namespace {

using StreamStatus = TlsStream::Status;

constexpr size_t kPlenty = 16u << 20;

std::string Pattern(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

/// A stream and a client, whose bytes the test carries from one to the other.
class TlsStreamTest : public ::testing::Test {
 protected:
  void Start(int version = TLS1_3_VERSION, const TestCertificate* certificate = nullptr) {
    client_ = std::make_unique<TestTlsClient>(version, certificate);
    stream_ = TlsStream::Make(settings_);
    ASSERT_NE(nullptr, stream_);
  }
  /// Carries what both want to send (to the stream in pieces), until the handshake is done or has
  /// failed.
  StreamStatus Shake(size_t piece_bytes = SIZE_MAX) {
    StreamStatus status = StreamStatus::kNeedsInput;
    for (int i = 0; i < 10 && status == StreamStatus::kNeedsInput; ++i) {
      client_->Handshake();
      const std::string records = client_->Take();
      for (size_t at = 0; at < records.size() && status == StreamStatus::kNeedsInput;) {
        const std::string piece = records.substr(at, piece_bytes);
        stream_->received().Append(piece);
        at += piece.size();
        status = stream_->Handshake();
        Carry();
      }
    }
    client_->Handshake();
    return status;
  }
  /// The records of `count` KeyUpdates.
  std::string KeyUpdates(unsigned count, int kind = SSL_KEY_UPDATE_NOT_REQUESTED) {
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(1, SSL_key_update(client_->ssl(), kind));
      EXPECT_TRUE(client_->Handshake());
    }
    return client_->Take();
  }
  /// Carries the stream's records to the client.
  size_t Carry() {
    const size_t bytes = stream_->to_send().size();
    client_->Give(stream_->to_send().view());
    stream_->to_send().Consume(bytes);
    return bytes;
  }
  void Reply(std::string_view bytes) {
    out_.bytes().Append(bytes);
    out_.ReleaseToGate();
  }

  TestTlsContext context_;
  TlsSettings settings_ = TestTlsSettings(context_);
  std::unique_ptr<TestTlsClient> client_;
  std::unique_ptr<TlsStream> stream_;
  base::Buffer in_;
  GatedOutput out_;
};

TEST_F(TlsStreamTest, BothVersionsCarryBytesInBothDirections) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Start(version);
    ASSERT_EQ(StreamStatus::kDone, Shake());
    EXPECT_EQ(version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3", stream_->version());
    EXPECT_FALSE(stream_->cipher().empty());
    EXPECT_EQ("", stream_->peer_subject());
    stream_->received().Append(client_->Encrypt("request\n"));
    EXPECT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
    EXPECT_EQ("request\n", in_.view());
    Reply("reply\n");
    EXPECT_TRUE(stream_->Encrypt(out_));
    EXPECT_TRUE(out_.empty());
    Carry();
    EXPECT_EQ("reply\n", client_->Read());
    in_.Consume(in_.size());
  }
}

TEST_F(TlsStreamTest, BytesThatComeOneByOneAreEnough) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Start(version);
    ASSERT_EQ(StreamStatus::kDone, Shake(/*piece_bytes=*/1));
    const std::string plain = Pattern(500);
    for (const char byte : client_->Encrypt(plain)) {
      stream_->received().Append(byte);
      ASSERT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
      EXPECT_FALSE(stream_->has_undecrypted());
    }
    EXPECT_TRUE(plain == in_.view());
    in_.Consume(in_.size());
  }
}

TEST_F(TlsStreamTest, ManyRecordsAndTheLargestAreDecryptedAtOnce) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  std::string plain;
  for (int i = 0; i < 200; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    stream_->received().Append(client_->Encrypt(line));
    plain += line;
  }
  const std::string large = Pattern(16 * 1024);
  stream_->received().Append(client_->Encrypt(large));
  EXPECT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
  EXPECT_TRUE(plain + large == in_.view());
}

TEST_F(TlsStreamTest, InputThatIsFullLeavesTheRestForLater) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  const std::string plain = Pattern(1000);
  stream_->received().Append(client_->Encrypt(plain));
  stream_->received().Append(client_->Encrypt("end"));
  std::string seen;
  while (seen.size() < plain.size() + 3) {
    EXPECT_TRUE(stream_->has_undecrypted());
    stream_->Decrypt(in_, 100);
    ASSERT_LE(in_.size(), 100u);
    ASSERT_FALSE(in_.empty());
    seen += in_.view();
    in_.Consume(in_.size());
  }
  EXPECT_TRUE(plain + "end" == seen);
  EXPECT_FALSE(stream_->has_undecrypted());
}

TEST_F(TlsStreamTest, NothingBehindTheGateIsEncrypted) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  out_.bytes().Append("read ");
  out_.HoldGate();
  out_.bytes().Append("write ");
  EXPECT_TRUE(stream_->Encrypt(out_));
  Carry();
  EXPECT_EQ("read ", client_->Read());
  EXPECT_TRUE(stream_->Encrypt(out_));
  EXPECT_EQ(0u, Carry());
  out_.DropGated();  // The plain bytes of a batch that failed can still be taken back.
  out_.bytes().Append("again");
  out_.OpenGate();
  EXPECT_TRUE(stream_->Encrypt(out_));
  Carry();
  EXPECT_EQ("again", client_->Read());
}

TEST_F(TlsStreamTest, RecordsThatWaitAreBounded) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  const std::string reply = Pattern(1'000'000);
  Reply(reply);
  std::string seen;
  for (int i = 0; i < 1000 && !out_.empty(); ++i) {
    ASSERT_TRUE(stream_->Encrypt(out_));
    ASSERT_TRUE(stream_->Encrypt(out_));
    ASSERT_LE(stream_->to_send().size(), TlsStream::kCipherBytesMax);
    ASSERT_GT(Carry(), 0u);
    seen += client_->Read();
  }
  EXPECT_TRUE(reply == seen);
}

TEST_F(TlsStreamTest, EndIsToldInBothDirections) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  stream_->received().Append(client_->Encrypt("last"));
  stream_->received().Append(client_->SayEnd());
  EXPECT_EQ(StreamStatus::kEnd, stream_->Decrypt(in_, kPlenty));
  EXPECT_EQ("last", in_.view());
  Reply("answer");  // A client that has said its end still gets its answers.
  EXPECT_TRUE(stream_->Encrypt(out_));
  stream_->SayEnd();
  stream_->SayEnd();
  const size_t bytes = Carry();
  EXPECT_EQ("answer", client_->Read());
  EXPECT_TRUE(client_->ServerHasEnded());
  stream_->SayEnd();
  EXPECT_EQ(0u, Carry()) << bytes;
}

TEST_F(TlsStreamTest, OldVersionsAreRefused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    Start(version);
    EXPECT_EQ(StreamStatus::kFailed, Shake());
    EXPECT_FALSE(stream_->WhyFailed().empty());
  }
}

TEST_F(TlsStreamTest, GarbageIsAnsweredWithAnAlert) {
  for (const std::string_view garbage : {std::string_view("\x16GET / HTTP/1.0\r\n\r\n"),
                                         std::string_view("\x16\x03\x01\x00\x04"
                                                          "ABCD",
                                                          9),
                                         std::string_view("\x16\x02\x00\x00\x01\x00", 6)}) {
    Start();
    stream_->received().Append(garbage);
    EXPECT_EQ(StreamStatus::kFailed, stream_->Handshake());
    EXPECT_LT(stream_->to_send().size(), 100u);
    EXPECT_TRUE(stream_->has_ended());
    EXPECT_EQ(StreamStatus::kFailed, stream_->Handshake());
  }
}

TEST_F(TlsStreamTest, ChangedRecordEndsTheStream) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  std::string record = client_->Encrypt("request\n");
  record.back() = static_cast<char>(record.back() ^ 1);
  stream_->received().Append(record);
  EXPECT_EQ(StreamStatus::kFailed, stream_->Decrypt(in_, kPlenty));
  EXPECT_TRUE(in_.empty());
  Reply("reply");
  EXPECT_FALSE(stream_->Encrypt(out_));
}

TEST_F(TlsStreamTest, RenegotiationIsRefused) {
  Start(TLS1_2_VERSION);
  ASSERT_EQ(StreamStatus::kDone, Shake());
  SSL_set_options(client_->ssl(), SSL_OP_LEGACY_SERVER_CONNECT);
  ASSERT_EQ(1, SSL_renegotiate(client_->ssl()));
  SSL_do_handshake(client_->ssl());
  stream_->received().Append(client_->Take());
  EXPECT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
  EXPECT_LT(Carry(), 100u) << "an alert, and no handshake";
}

TEST_F(TlsStreamTest, EarlyDataIsNeverTaken) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  client_->Read();  // The tickets.
  SSL_SESSION* const session = SSL_get0_session(client_->ssl());
  ASSERT_EQ(1, SSL_SESSION_is_resumable(session));
  EXPECT_EQ(0u, SSL_SESSION_get_max_early_data(session));
  EXPECT_EQ(0u, SSL_get_max_early_data(stream_->ssl()));
  EXPECT_EQ(0u, SSL_get_recv_max_early_data(stream_->ssl()));
}

TEST_F(TlsStreamTest, SessionsAreResumedWhereTheNameIsTheSameOnly) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  client_->Read();
  SSL_SESSION* const session = SSL_get1_session(client_->ssl());
  for (const bool same : {true, false}) {
    settings_.session_context = same ? "test" : "other";
    client_->SayEnd();  // OpenSSL does not resume a session that has ended without it.
    client_ = std::make_unique<TestTlsClient>();
    stream_ = TlsStream::Make(settings_);
    ASSERT_EQ(1, SSL_set_session(client_->ssl(), session));
    ASSERT_EQ(StreamStatus::kDone, Shake());
    EXPECT_EQ(same ? 1 : 0, SSL_session_reused(client_->ssl()));
    client_->Read();
  }
  SSL_SESSION_free(session);
}

TEST_F(TlsStreamTest, CertificatesOfClientsAreChecked) {
  const TestCertificate good("app", &context_.authority);
  const TestCertificate expired("app", &context_.authority, /*seconds_valid=*/-60);
  const TestCertificate stranger("app");
  for (const bool needed : {false, true}) {
    settings_.needs_client_certificate = needed;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      Start(version);
      EXPECT_EQ(needed ? StreamStatus::kFailed : StreamStatus::kDone, Shake());
      Start(version, &good);
      ASSERT_EQ(StreamStatus::kDone, Shake());
      EXPECT_EQ("/CN=app", stream_->peer_subject());
      Start(version, &expired);
      EXPECT_EQ(StreamStatus::kFailed, Shake());
      EXPECT_EQ("certificate has expired", stream_->WhyFailed());
      Start(version, &stranger);
      EXPECT_EQ(StreamStatus::kFailed, Shake());
      EXPECT_NE(std::string::npos, stream_->WhyFailed().find("self"));
    }
  }
}

TEST_F(TlsStreamTest, KeyUpdatesAreAnswered) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(1, SSL_key_update(client_->ssl(), SSL_KEY_UPDATE_REQUESTED));
    stream_->received().Append(client_->Encrypt("x"));
    EXPECT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
    Reply("y");
    EXPECT_TRUE(stream_->Encrypt(out_));
    Carry();
    EXPECT_EQ("y", client_->Read());
  }
  EXPECT_EQ("xxxxx", in_.view());
}

TEST_F(TlsStreamTest, KeyUpdatesWithoutPlainBytesAreBounded) {
  constexpr unsigned kMost = TlsStream::kEmptyReadsMax;
  struct Case {
    int kind;
    unsigned count;
    bool goes_on;
  };
  for (const Case& each : {Case{SSL_KEY_UPDATE_NOT_REQUESTED, kMost, true},
                           Case{SSL_KEY_UPDATE_NOT_REQUESTED, kMost + 1, false},
                           Case{SSL_KEY_UPDATE_REQUESTED, kMost / 2, true},
                           Case{SSL_KEY_UPDATE_REQUESTED, kMost + 1, false}}) {
    Start();
    ASSERT_EQ(StreamStatus::kDone, Shake());
    const std::string updates = KeyUpdates(each.count, each.kind);
    EXPECT_GT(updates.size(), 20u * each.count) << "a record each";
    stream_->received().Append(updates + client_->Encrypt("x"));
    EXPECT_EQ(each.goes_on ? StreamStatus::kNeedsInput : StreamStatus::kFailed,
              stream_->Decrypt(in_, kPlenty));
    EXPECT_EQ(each.goes_on ? "x" : "", in_.view()) << each.count;
    EXPECT_EQ(!each.goes_on, stream_->has_ended());
    in_.Consume(in_.size());
  }
}

TEST_F(TlsStreamTest, KeyUpdatesInSeveralPiecesAreBounded) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  StreamStatus status = StreamStatus::kNeedsInput;
  unsigned pieces = 0;
  while (status == StreamStatus::kNeedsInput && pieces <= TlsStream::kEmptyReadsMax) {
    stream_->received().Append(KeyUpdates(2));
    status = stream_->Decrypt(in_, kPlenty);
    ++pieces;
  }
  EXPECT_EQ(StreamStatus::kFailed, status);
  EXPECT_EQ(TlsStream::kEmptyReadsMax + 1, pieces);
  EXPECT_EQ("too many records without content", stream_->WhyFailed());
}

TEST_F(TlsStreamTest, KeyUpdatesWithPlainBytesInBetweenGoOn) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  std::string records, plain;
  // A KeyUpdate that asks for an answer may cost two reads.
  for (unsigned i = 0; i <= TlsStream::kEmptyReadsMax; ++i) {
    records += KeyUpdates(1, SSL_KEY_UPDATE_REQUESTED);
    records += client_->Encrypt("xx");
    plain += "xx";
  }
  stream_->received().Append(records);
  EXPECT_EQ(StreamStatus::kNeedsInput, stream_->Decrypt(in_, kPlenty));
  EXPECT_EQ(plain, in_.view());
}

TEST_F(TlsStreamTest, APlainBytePaysForOneKeyUpdate) {
  Start();
  ASSERT_EQ(StreamStatus::kDone, Shake());
  std::string records;
  for (int i = 0; i < 2; ++i) {
    records += KeyUpdates(TlsStream::kEmptyReadsMax);
    records += client_->Encrypt("x");
  }
  stream_->received().Append(records);
  EXPECT_EQ(StreamStatus::kFailed, stream_->Decrypt(in_, kPlenty));
  EXPECT_EQ("x", in_.view());
}

TEST_F(TlsStreamTest, NoCertificateNoStream) {
  context_.has_certificate = false;
  EXPECT_EQ(nullptr, TlsStream::Make(settings_));
}

}  // namespace
}  // namespace rowsocket::net
