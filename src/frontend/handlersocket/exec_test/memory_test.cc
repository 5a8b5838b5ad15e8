// Where the server's threads get no memory at all, connections are closed, and the server lives on.
#include "exec/test_memory.h"
#include "frontend/handlersocket/exec_test/test_port.h"
#include "net/test_tls.h"

namespace rowsocket::exec {
namespace {

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    server_.settings.handshakes.tls = net::TestTlsSettings(context_, net::TlsMode::kOn);
    server_.settings.limits.connections_max = kClients + 1;
  }
  /// All threads have begun, and no client is there.
  void Start() {
    server_.Start();
    // Each worker's thread has a session, and so has the one that executes its batches.
    EXPECT_TRUE(Eventually(
        [&] { return server_.store.sessions() == 2 * size_t{server_.settings.workers}; }));
    ExpectServed(0);
    EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  }
  void ExpectServed(uint64_t connections) {
    LineClient client = server_.ConnectAndOpen();
    EXPECT_EQ(kRow1, client.Ask(kFind1));
    EXPECT_EQ("0\t1\t1", client.Ask("0\t=\t1\t2\t1\t0\tU\t2\t21\n"));
    EXPECT_EQ(connections + 1, server_.Stat(Stat::kConnections));
  }

  static constexpr unsigned kClients = 8;
  net::TestTlsContext context_;
  TestPort server_;
};

TEST_F(MemoryTest, ConnectionsThatCannotBeTakenAreClosed) {
  Start();
  {
    const OutOfMemory out;
    // More than there may be: places that are not given back would run out.
    for (unsigned i = 0; i < 4 * kClients; ++i) {
      LineClient client = server_.Connect();
      EXPECT_EQ("(end)", client.ReadLine());
    }
  }
  ExpectServed(0);
}

TEST_F(MemoryTest, ClientsThatBeginWithTlsAreClosed) {
  Start();
  for (int round = 0; round < 4; ++round) {
    std::vector<LineClient> clients;
    for (unsigned i = 0; i < kClients; ++i) clients.push_back(server_.Connect());
    EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == kClients; }));
    const OutOfMemory out;
    for (LineClient& client : clients) client.Send(std::string_view("\x16\x03\x01\x00\x01", 5));
    for (LineClient& client : clients) EXPECT_EQ("(end)", client.ReadLine());
  }
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  ExpectServed(0);
}

TEST_F(MemoryTest, RequestsEndTheirConnections) {
  Start();
  LineClient other = server_.ConnectAndOpen();
  {
    std::vector<LineClient> clients;
    for (unsigned i = 1; i < kClients; ++i) clients.push_back(server_.ConnectAndOpen());
    const OutOfMemory out;
    // A request that needs no memory is answered.
    for (LineClient& client : clients) client.Send("P\t1\ttest\tt\t\tid,v\n");
    for (LineClient& client : clients) EXPECT_EQ("(end)", client.ReadLine());
  }
  EXPECT_EQ(kRow1, other.Ask(kFind1));
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 1; }));
  ExpectServed(1);
}

}  // namespace
}  // namespace rowsocket::exec
