// If the server's threads get no memory, connections of RESP are closed, and the server lives
// on; and large values leave no memory behind in its threads.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>

#include "exec/test_memory.h"
#include "exec/test_port.h"
#include "frontend/resp/frontend.h"
#include "frontend/resp/resp_fixture.h"
#include "model/limits.h"

namespace rowsocket::frontend {
namespace {

using exec::Eventually;
using exec::LineClient;
using exec::Stat;

class RespMemoryTest : public ::testing::Test {
 protected:
  RespMemoryTest() {
    test_.store.CreateTable({"shop.t", {"id", "v"}, {{"PRIMARY", {0}}}}, {{"1", "10"}});
    resp_.schema = "shop";
    resp_.info = &info_;
    resp_.clients = &clients_;
    resp_.cursors = &cursors_;
    resp_.scripts = &scripts_;
    test_.make_frontend = [this] { return std::make_unique<RespFrontend>(resp_); };
    test_.Start();
    ExpectServed();
  }
  ~RespMemoryTest() override { test_.Stop(); }
  void ExpectServed() {
    LineClient client = test_.Connect();
    EXPECT_EQ("+PONG\r", client.Ask("PING\r\n"));
    EXPECT_EQ('$', client.Ask("HGET t:1 v\r\n").front());
    client.Close();
    EXPECT_TRUE(Eventually([this] { return test_.Stat(Stat::kConnections) == 0; }));
  }

  /// In each round one allocation more of the server's threads succeeds.
  static constexpr long kRounds = 80;
  RespInfo info_;
  RespClients clients_;
  RespCursors cursors_;
  RespScripts scripts_;
  RespShared resp_;
  exec::PortOnFake test_;
};

// A connection that is added asks for memory at several places: its last one is for CLIENT LIST.
TEST_F(RespMemoryTest, ConnectionsAreServedOrClosedWhicheverAllocationFails) {
  for (long spare = 0; spare < kRounds; ++spare) {
    const exec::OutOfMemory out(spare);
    LineClient client = test_.Connect();
    const std::string reply = client.Ask("PING\r\n");
    EXPECT_TRUE(reply == "+PONG\r" || reply == "(end)") << reply << ", " << spare;
  }
  EXPECT_TRUE(Eventually([this] { return test_.Stat(Stat::kConnections) == 0; }));
  EXPECT_TRUE(clients_.All().empty());
  ExpectServed();
}

// After a request that waits for a lock, the connection takes its new state back, and shows CLIENT
// LIST the former one: the name is too long for a string that needs no allocation.
TEST_F(RespMemoryTest, RequestsAreAnsweredOrLostWhicheverAllocationFails) {
  for (long spare = 0; spare < kRounds; ++spare) {
    auto locked = test_.store.LockRow("shop.t", {"1"});
    LineClient client = test_.Connect(), other = test_.Connect();
    EXPECT_EQ("+OK\r", client.Ask("CLIENT SETNAME " + std::string(100, 'n') + "\r\n"));
    EXPECT_EQ("+PONG\r", other.Ask("PING\r\n"));
    {
      const exec::OutOfMemory out(spare);
      client.Send("HINCRBY t:1 v 1\r\nSELECT 1\r\n");
      EXPECT_NE("(nothing)", other.Ask("PING\r\n")) << spare;
    }
    locked.reset();
    EXPECT_NE("(nothing)", client.ReadLine()) << spare;
  }
  EXPECT_TRUE(Eventually([this] { return test_.Stat(Stat::kConnections) == 0; }));
  ExpectServed();
}

// Others ask for the list while the connection's memory is looked for.
TEST(RespClientsTest, AConnectionWithoutMemoryForItsFactsIsNotListed) {
  RespClients clients;
  const RespActivity activity;
  RespFacts facts;
  facts.name = facts.account = std::string(100, 'a');
  size_t failed = 0;
  for (long spare = 0; spare < 8; ++spare) {
    const exec::OutOfMemory out(spare);
    bool is_shown = true;
    std::thread([&] {
      try {
        clients.Show(1, facts, activity);
      } catch (const std::bad_alloc&) {
        is_shown = false;
      }
    }).join();
    failed += is_shown ? 0 : 1;
    EXPECT_EQ(is_shown ? 1u : 0u, clients.All().size()) << spare;
    EXPECT_EQ(0u, clients.CountWaiting());
    clients.Leave(1);
  }
  EXPECT_GE(failed, 2u);
}

// A thread that executes no other RENAME would keep the value for good. RENAME of a key to itself
// is executed outside a unit.
TEST_F(RespTest, AThreadKeepsNothingOfALargeStringThatItHasMoved) {
  const std::string value(size_t{4} << 20, 'v');
  store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}},
                     {{"0", "large", value, std::nullopt}, {"0", "small", "s", std::nullopt}});
  // After a read, the session holds no row that was changed meanwhile.
  const auto held = [this] {
    EXPECT_EQ("$1\r\ns\r\n", Ask("GET small"));
    return exec::AllocatedBytes();
  };
  const auto move = [this](const std::string& key) {
    EXPECT_EQ("+OK\r\n", Ask("RENAME " + key + " other"));
    EXPECT_EQ("+OK\r\n", Ask("RENAME other " + key));
    EXPECT_EQ(":0\r\n", Ask("RENAMENX " + key + " small"));
    EXPECT_EQ("+OK\r\n", Ask("RENAME " + key + " " + key));
  };
  move("small");
  const int64_t before = held();
  move("large");
  EXPECT_LT(held() - before, static_cast<int64_t>(value.size() / 2));
}

// The position whose place found no memory would stay for good, and all behind it.
TEST(RespCursorsMemoryTest, ACursorThatFindsNoMemoryLeavesNothing) {
  RespCursors cursors;
  for (long spare = 0; spare < 4; ++spare) {
    RespCursors::Position position{std::string(100, 's'), {"x"}};
    const exec::OutOfMemory out(spare);
    std::thread([&] {
      try {
        cursors.Keep(std::move(position), 0);
      } catch (const std::bad_alloc&) {
      }
    }).join();
  }
  uint64_t last = 0;
  for (size_t i = 0; i < model::kRespCursorsMax * 2; ++i) last = cursors.Keep({"s", {"x"}}, 0);
  EXPECT_EQ(model::kRespCursorsMax, cursors.size());
  RespCursors::Position position;
  EXPECT_TRUE(cursors.Find(last, &position));
}

}  // namespace
}  // namespace rowsocket::frontend
