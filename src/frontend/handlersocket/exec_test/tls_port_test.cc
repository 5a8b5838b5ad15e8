// A port that offers TLS: the hand-over of connections between workers and the handshake thread,
// and its limits.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "exec/usage.h"
#include "frontend/handlersocket/exec_test/test_port.h"
#include "net/test_tls.h"

namespace rowsocket::exec {
namespace {

/// A TLS client of a port, line by line.
class TlsLineClient {
 public:
  TlsLineClient(net::UniqueFd fd, int version = TLS1_3_VERSION)
      : fd_(std::move(fd)), tls_(version) {}

  /// False when the server ends the connection instead. `first`: what the client sends together
  /// with its last record of the handshake.
  bool Handshake(std::string_view first = {}) {
    while (!tls_.Handshake()) {
      net::WriteAll(fd_.get(), tls_.Take());
      if (!Receive()) return false;
    }
    net::WriteAll(fd_.get(), first.empty() ? tls_.Take() : tls_.Encrypt(first));
    return true;
  }
  void Send(std::string_view bytes) { net::WriteAll(fd_.get(), tls_.Encrypt(bytes)); }
  std::string ReadLine() {
    size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
      if (!Receive()) return "(end)";
      received_ += tls_.Read();
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }
  std::string Ask(std::string_view line) {
    Send(line);
    return ReadLine();
  }
  /// The records that begin a connection.
  std::string Hello() {
    tls_.Handshake();
    return tls_.Take();
  }
  int fd() const { return fd_.get(); }

 private:
  bool Receive() {
    char bytes[16 * 1024];
    const ssize_t count = recv(fd_.get(), bytes, sizeof(bytes), 0);
    if (count <= 0) return false;
    tls_.Give({bytes, static_cast<size_t>(count)});
    return true;
  }

  net::UniqueFd fd_;
  net::TestTlsClient tls_;
  std::string received_;
};

class TlsPortTest : public ::testing::Test {
 protected:
  TlsPortTest() { Offer(net::TlsMode::kOn); }
  void Offer(net::TlsMode mode) {
    server_.settings.handshakes.tls = net::TestTlsSettings(context_, mode);
  }
  std::unique_ptr<TlsLineClient> Connect(int version = TLS1_3_VERSION) {
    return std::make_unique<TlsLineClient>(server_.ConnectFd(), version);
  }

  net::TestTlsContext context_;
  Usage usage_;
  TestPort server_;
};

TEST_F(TlsPortTest, BothKindsOfClientsAreServed) {
  server_.Start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto client = Connect(version);
    ASSERT_TRUE(client->Handshake());
    EXPECT_EQ("0\t1", client->Ask(kOpenIdV));
    EXPECT_EQ(kRow1, client->Ask(kFind1));
    EXPECT_EQ("0\t1\t1", client->Ask("0\t=\t1\t2\t1\t0\tU\t2\t21\n"));
  }
  LineClient plain = server_.ConnectAndOpen();
  EXPECT_EQ(kRow1, plain.Ask(kFind1));
  EXPECT_EQ(2u, server_.Stat(Stat::kTlsHandshakes));
  EXPECT_EQ(0u, server_.Stat(Stat::kTlsFailed));
}

TEST_F(TlsPortTest, PlainClientsAreRefusedWhereTlsIsRequired) {
  Offer(net::TlsMode::kRequired);
  server_.Start();
  LineClient plain = server_.Connect();
  plain.Send(std::string(kOpenIdV) + kFind1);
  EXPECT_EQ("3\t1\tneedtls", plain.ReadLine());
  EXPECT_EQ("(end)", plain.ReadLine());
  auto client = Connect();
  ASSERT_TRUE(client->Handshake());
  EXPECT_EQ("0\t1", client->Ask(kOpenIdV));
}

// However many workers there are, one thread does the handshakes.
TEST_F(TlsPortTest, MissingHandshakeThreadIsNotBlamedOnTheNumberOfWorkers) {
  const auto start_without_threads = [this] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    Port port(
        server_.settings, server_.factory, server_.lane, server_.stats, server_.commits,
        [] { return nullptr; }, [](const std::string&) {});
    std::string error;
    const bool started = port.Start(&error);
    fputs(error.c_str(), stderr);
    _exit(started ? 2 : 0);
  };
  EXPECT_EXIT(start_without_threads(), ::testing::ExitedWithCode(0),
              "cannot start a thread for TLS handshakes .*: allow the server more threads$");
}

TEST_F(TlsPortTest, BytesAfterTheHandshakeAreNotLost) {
  server_.Start();
  auto client = Connect();
  // The client's last record of the handshake and its first requests come in one segment.
  ASSERT_TRUE(client->Handshake(std::string(kOpenIdV) + kFind1 + kFind1));
  EXPECT_EQ("0\t1", client->ReadLine());
  EXPECT_EQ(kRow1, client->ReadLine());
  EXPECT_EQ(kRow1, client->ReadLine());
}

TEST_F(TlsPortTest, AHandshakeUnderWayIsShown) {
  server_.settings.plugin = "shown";
  server_.Start();
  const auto shown = [] {
    std::string states;
    for (const ConnectionInfo& each : ConnectionBook::Shared().Others("shown", {}))
      states += each.state + ";";
    return states;
  };
  auto client = Connect();
  const std::string hello = client->Hello();
  net::WriteAll(client->fd(), hello.substr(0, 1));
  EXPECT_TRUE(Eventually([&] { return shown() == std::string(kHandshakeState) + ";"; }));
  net::WriteAll(client->fd(), hello.substr(1));
  ASSERT_TRUE(client->Handshake());
  EXPECT_EQ("0\t1", client->Ask(kOpenIdV));
  EXPECT_EQ(std::string(kUnknownState) + ";", shown()) << "a worker that was not asked has it";
}

TEST_F(TlsPortTest, TimeOfARequestAfterTheHandshakeBeginsWhenItHasCome) {
  server_.settings.usage = &usage_;
  const int64_t began_ns = base::NowNs();
  server_.Start();
  auto client = Connect();
  ASSERT_TRUE(client->Handshake(std::string(kOpenIdV) + kFind1));
  EXPECT_EQ("0\t1", client->ReadLine());
  EXPECT_EQ(kRow1, client->ReadLine());
  const auto taken_ns = static_cast<uint64_t>(base::NowNs() - began_ns);
  server_.Stop();
  const Usage::Indexes indexes = usage_.indexes();
  ASSERT_EQ(1u, indexes.size());
  const UsageCounts& counts = indexes.begin()->second;
  EXPECT_EQ(1u, counts[static_cast<size_t>(Used::kRequests)]);
  EXPECT_LE(counts[static_cast<size_t>(Used::kWholeNs)], taken_ns);
}

TEST_F(TlsPortTest, SilentHandshakesEndAndFreeTheirPlaces) {
  constexpr unsigned kSilent = 20;
  server_.settings.handshakes.timeout_s = 1;
  server_.settings.limits.connections_max = kSilent + 2;  // One that has just left may still count.
  server_.Start();
  const std::string hello = Connect()->Hello();
  std::vector<LineClient> silent;
  for (unsigned i = 0; i < kSilent; ++i) {
    silent.push_back(server_.Connect());
    silent.back().Send(hello.substr(0, 1 + i * hello.size() / kSilent));
  }
  auto client = Connect();
  ASSERT_TRUE(client->Handshake()) << "others that are silent keep nobody waiting";
  EXPECT_EQ("0\t1", client->Ask(kOpenIdV));
  for (LineClient& each : silent) EXPECT_EQ("(end)", each.ReadLine());
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 1; }));
  EXPECT_EQ(kSilent, server_.Stat(Stat::kTlsFailed));
  EXPECT_EQ(kSilent, server_.Stat(Stat::kConnectionsTimedOut));
  EXPECT_EQ(kRow1, client->Ask(kFind1));
}

// OpenSSL would take memory for the length that the hello claims, and wait for the rest of it.
TEST_F(TlsPortTest, HelloThatIsNotInTheFirstRecordIsRefusedAtOnce) {
  server_.settings.handshakes.timeout_s = 3600;
  server_.Start();
  const std::string_view records[] = {{"\x16\x03\x01\x00\x04\x01\x02\x01\x44", 9},
                                      {"\x16\x03\x01\x00\x01\x01", 6},
                                      {"\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9}};
  for (const std::string_view record : records) {
    LineClient client = server_.Connect();
    client.Send(std::string(record));
    EXPECT_EQ("(end)", client.ReadLine());
  }
  EXPECT_EQ(std::size(records), server_.Stat(Stat::kTlsFailed));
}

TEST_F(TlsPortTest, HandshakesCountAsConnections) {
  server_.settings.limits.connections_max = 2;
  server_.Start();
  LineClient first = server_.Connect(), second = server_.Connect();
  first.Send("\x16");
  second.Send("\x16");
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 2; }));
  EXPECT_EQ("(end)", server_.Connect().ReadLine());
}

TEST_F(TlsPortTest, FailuresAreToldOnce) {
  server_.Start();
  for (int i = 0; i < 3; ++i) {
    LineClient client = server_.Connect();
    client.Send("\x16nonsense that is no TLS\n");
    while (client.ReadLine() != "(end)") {
    }
  }
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kTlsFailed) == 3; }));
  EXPECT_EQ(1u, server_.TakeLog().size());
}

TEST_F(TlsPortTest, ServerWithoutACertificateFailsHandshakes) {
  context_.has_certificate = false;
  server_.Start();
  EXPECT_FALSE(Connect()->Handshake());
  LineClient plain = server_.ConnectAndOpen();
  const std::vector<std::string> log = server_.TakeLog();
  ASSERT_EQ(1u, log.size());
  EXPECT_NE(std::string::npos, log[0].find("ssl_cert"));
}

TEST_F(TlsPortTest, AuthenticationTimeRunsAfterTheHandshake) {
  ASSERT_TRUE(server_.frontend.secret.Set("sesame"));
  server_.settings.limits.auth_timeout_s = 1;
  server_.Start();
  auto client = Connect(), silent = Connect();
  ASSERT_TRUE(client->Handshake() && silent->Handshake());
  EXPECT_EQ("0\t1", client->Ask("A\t1\tsesame\n"));
  EXPECT_EQ("(end)", silent->ReadLine());
  EXPECT_EQ("0\t1", client->Ask(kOpenIdV));
}

// A client that is silent, then begins a handshake, then is silent again has no more time for that.
TEST_F(TlsPortTest, AuthenticationTimeBeginsWithTheConnection) {
  constexpr int64_t kTimeoutMs = 3000, kSilentMs = 2500;
  ASSERT_TRUE(server_.frontend.secret.Set("sesame"));
  server_.settings.limits.auth_timeout_s = server_.settings.handshakes.timeout_s =
      kTimeoutMs / 1000;
  server_.settings.handshakes.counts_from_connection = true;
  server_.Start();
  const int64_t began_ms = base::CoarseNowMs();
  auto done = Connect(), begun = Connect();
  std::this_thread::sleep_for(std::chrono::milliseconds(kSilentMs));
  net::WriteAll(begun->fd(), begun->Hello().substr(0, 1));
  ASSERT_TRUE(done->Handshake());
  EXPECT_EQ("(end)", done->ReadLine());
  EXPECT_LT(base::CoarseNowMs() - began_ms, kSilentMs + kTimeoutMs);
  EXPECT_EQ("(end)", begun->ReadLine());
  EXPECT_LT(base::CoarseNowMs() - began_ms, kSilentMs + kTimeoutMs);
  EXPECT_EQ(2u, server_.Stat(Stat::kConnectionsTimedOut));
}

TEST_F(TlsPortTest, ManyComeAndGoWhileWorkersChange) {
  constexpr unsigned kThreads = 4, kEach = 30;
  server_.settings.workers = 3;
  server_.settings.elastic = true;
  server_.Start();
  std::vector<std::thread> threads;
  std::atomic<unsigned> answered{0};
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned j = 0; j < kEach; ++j) {
        if (j % 5 == i) server_.port->worker_pool().Pin(1 + j % 3);
        auto client = Connect(j % 2 == 0 ? TLS1_3_VERSION : TLS1_2_VERSION);
        if (j % 7 == 3) {
          net::WriteAll(client->fd(), client->Hello());  // and away
          continue;
        }
        ASSERT_TRUE(client->Handshake());
        ASSERT_EQ("0\t1", client->Ask("P\t0\ttest\tt\t\tv\n"));
        ASSERT_EQ("0\t1\t1", client->Ask("0\t=\t1\t3\t1\t0\t+\t1\n"));
        ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ("1,10;2,20;3," + std::to_string(30 + answered) + ";", server_.store.Dump(kServedTable));
}

TEST_F(TlsPortTest, StopsWhileHandshakesAreUnderWay) {
  server_.Start();
  const std::string hello = Connect()->Hello();
  std::vector<LineClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(server_.Connect());
    clients.back().Send(i % 2 == 0 ? std::string_view(hello)
                                   : std::string_view(hello).substr(0, 5));
  }
  server_.Stop();
}

}  // namespace
}  // namespace rowsocket::exec
