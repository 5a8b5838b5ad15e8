// If the server's threads get no memory at all, connections are closed, and the server lives on.
#include <sys/socket.h>

#include <chrono>
#include <new>
#include <string>
#include <thread>

#include "engine/index.h"
#include "exec/test_memory.h"
#include "frontend/handlersocket/exec_test/test_port.h"
#include "net/test_tls.h"

namespace rowsocket::exec {
namespace {

constexpr long kRoundsMax = 10'000;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    server_.settings.handshakes.tls = net::TestTlsSettings(context_, net::TlsMode::kOn);
    server_.settings.limits.connections_max = kClients + 1;
  }
  /// Starts the port, and waits until all threads have begun. There are no clients yet.
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

  static std::string Change(int id) {
    return "0\t=\t1\t" + std::to_string(id) + "\t1\t0\tU\t" + std::to_string(id) + "\t7\n";
  }

  static constexpr unsigned kClients = 8;
  /// In each round one allocation more of the server's threads succeeds.
  static constexpr long kRounds = 80;
  net::TestTlsContext context_;
  TestPort server_;
};

TEST_F(MemoryTest, PortThatHasNoMemoryToStartCanBeStopped) {
  server_.settings.workers = 2;
  bool has_started = false;
  for (long spare = 0; !has_started && spare < kRoundsMax; ++spare) {
    Port port(server_.settings, server_.factory, server_.lane, server_.stats, server_.commits,
              server_.make_frontend, [](const std::string&) {});
    {
      const OutOfMemory out(spare);
      std::thread starter([&] {
        std::string error;
        try {
          has_started = port.Start(&error);
        } catch (const std::bad_alloc&) {
          has_started = false;
        }
      });
      starter.join();
    }
    port.AskToStop();
    port.StopListening();
    port.Stop();
  }
  EXPECT_TRUE(has_started);
}

TEST(IndexMemoryTest, OpeningThatFailsTakesNoId) {
  const engine::IndexNames names{std::string(40, 'd'), std::string(40, 't'), "PRIMARY", {"id"}, {}};
  bool is_open = false;
  for (long spare = 0; !is_open && spare < kRoundsMax; ++spare) {
    engine::IndexRegistry registry;
    {
      const OutOfMemory out(spare);
      std::thread opener([&] {
        try {
          is_open = registry.Get(names) != nullptr;
        } catch (const std::bad_alloc&) {
        }
      });
      opener.join();
    }
    EXPECT_EQ(0u, registry.Get(names)->id()) << spare;
  }
  EXPECT_TRUE(is_open);
}

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

// Each lost client gives its buffers back.
TEST_F(MemoryTest, ManyClientsAreLostTogether) {
  constexpr unsigned kMany = 100;
  server_.settings.limits.connections_max = kMany + 1;
  Start();
  {
    std::vector<LineClient> clients;
    for (unsigned i = 0; i < kMany; ++i) clients.push_back(server_.ConnectAndOpen());
    const uint64_t before = server_.Stat(Stat::kBytesReceived);
    const std::string begin = "P\t1\ttest\tt\t\tid";
    for (LineClient& client : clients) client.Send(begin);
    EXPECT_TRUE(Eventually(
        [&] { return server_.Stat(Stat::kBytesReceived) == before + kMany * begin.size(); }));
    const OutOfMemory out;
    for (LineClient& client : clients) client.Send(",v\n");
    for (LineClient& client : clients) EXPECT_EQ("(end)", client.ReadLine());
  }
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  ExpectServed(0);
}

// The executor tells the process list when it is done and has released its tables.
TEST_F(MemoryTest, ExecutorOfBatchesLivesOn) {
  Start();
  server_.store.SetHook([](const engine::fake::Call& call) {
    // Commits that take this long are not run by the worker.
    if (call.kind == engine::fake::Call::Kind::kCommit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return engine::Outcome();
  });
  {
    LineClient writer = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ("0\t1\t1", writer.Ask(Change(3)));
      const OutOfMemory out;
      EXPECT_TRUE(Eventually([&] { return server_.store.sessions_with_tables() == 0; }));
      // The next step, which no test can see, is the line in the process list.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ("0\t2\t2\t21", other.Ask("0\t=\t1\t2\n"));
  }
  server_.store.SetHook({});
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  ExpectServed(0);
}

// Clients of two kinds write at once: those of a batch, and one whose request has waited for a
// lock.
TEST_F(MemoryTest, WritersAreAnsweredOrLostWhicheverAllocationFails) {
  Start();
  for (long spare = 0; spare < kRounds; ++spare) {
    auto locked = server_.store.LockRow(kServedTable, {"3"});
    LineClient waits = server_.ConnectAndOpen();
    LineClient writer = server_.ConnectAndOpen(), other = server_.ConnectAndOpen();
    const uint64_t waiting = server_.Stat(Stat::kLockWaits);
    waits.Send(Change(3));
    EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kLockWaits) == waiting + 1; }));
    EXPECT_TRUE(server_.store.AwaitWaiting(1));
    const OutOfMemory out(spare);
    writer.Send(Change(2));
    other.Send(Change(2));
    locked.reset();
    for (LineClient* const client : {&waits, &writer, &other}) {
      const std::string reply = client->ReadLine();
      EXPECT_TRUE(reply.starts_with("0\t1\t") || reply == "(end)") << reply << ", " << spare;
    }
  }
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  ExpectServed(0);
}

TEST_F(MemoryTest, RequestsGetToTheLaneAndBackWhicheverAllocationFails) {
  Start();
  for (long spare = 0; spare < kRounds; ++spare) {
    auto locked = server_.store.LockRow(kServedTable, {"3"});
    LineClient client = server_.ConnectAndOpen();
    const uint64_t waiting = server_.Stat(Stat::kLockWaits);
    {
      const OutOfMemory out(spare);
      client.Send(Change(3));
      char byte;
      EXPECT_TRUE(Eventually([&] {
        return recv(client.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
               server_.Stat(Stat::kLockWaits) != waiting;
      }));
    }
    locked.reset();
    EXPECT_NE("(nothing)", client.ReadLine()) << spare;
  }
  EXPECT_TRUE(Eventually([&] { return server_.Stat(Stat::kConnections) == 0; }));
  ExpectServed(0);
}

}  // namespace
}  // namespace rowsocket::exec
