// Ports of which some or all threads get no session, because the server has no memory for it.
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/batch_executor.h"
#include "exec/test_notification.h"
#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

/// Makes sessions for some of the threads that ask for one, by the order in which they ask. The
/// others get null, as if they had asked in vain for as long as SessionThread does.
class FewSessions final : public engine::SessionFactory {
 public:
  using Grants = std::function<bool(unsigned)>;
  FewSessions(engine::SessionFactory& factory, Grants grants)
      : factory_(factory), grants_(std::move(grants)) {}
  std::unique_ptr<engine::Session> Create(engine::LockWait lock_wait) override {
    return grants_(asked_++) ? factory_.Create(lock_wait) : nullptr;
  }

 private:
  engine::SessionFactory& factory_;
  const Grants grants_;
  std::atomic<unsigned> asked_{0};
};

class FewSessionsTest : public ::testing::Test {
 protected:
  void Start(FewSessions::Grants grants) {
    sessions_ = std::make_unique<FewSessions>(server_.factory, std::move(grants));
    server_.sessions = sessions_.get();
    server_.Start();
  }
  /// Stops only the port, so that it may be started again.
  void Stop() {
    server_.port->Stop();
    server_.port.reset();
  }
  /// The first line of the log that has `text`, when it has come.
  bool LogSays(const std::string& text) {
    return Eventually([&] {
      for (const std::string& line : server_.TakeLog()) {
        if (line.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }
  /// Whether a new client is served, and not turned away.
  static bool IsServed(LineClient& client) {
    send(client.fd(), kOpenIdV, sizeof(kOpenIdV) - 1, MSG_NOSIGNAL);
    return client.ReadLine() == "0\t1";
  }

  std::unique_ptr<FewSessions> sessions_;  ///< Outlives the port.
  TestPort server_;
};

TEST_F(FewSessionsTest, OtherWorkersServeAlone) {
  server_.settings.writes = false;  // No batch executor asks for a session.
  server_.settings.workers = 2;
  for (const bool is_elastic : {false, true}) {
    server_.settings.elastic = is_elastic;
    for (const unsigned none : {0u, 1u}) {
      Start([none](unsigned asked) { return asked != none; });
      ASSERT_TRUE(LogSays("the other workers serve alone"));
      std::vector<LineClient> clients;
      for (int i = 0; i < 8; ++i) clients.push_back(server_.ConnectAndOpen());
      for (LineClient& client : clients) EXPECT_EQ(kRow1, client.Ask(kFind1));
      Stop();
    }
  }
}

TEST_F(FewSessionsTest, ClientsThatAWorkerGotMeanwhileAreClosed) {
  server_.settings.writes = false;
  server_.settings.workers = 2;
  server_.settings.limits.connections_max = 2;
  Notification is_clear;
  Start([&](unsigned asked) {
    if (asked != 0) return true;
    EXPECT_TRUE(is_clear.Wait());
    return false;
  });
  LineClient first = server_.Connect(), second = server_.Connect();
  // The third connection is refused when both workers have got one.
  EXPECT_EQ("(end)", server_.Connect().ReadLine());
  is_clear.Notify();
  EXPECT_EQ(1, IsServed(first) + IsServed(second));
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsRefused) == 2; }));
  EXPECT_EQ(1u, server_.Stat(Stat::kConnectionsAccepted));
  EXPECT_EQ(kRow1, server_.ConnectAndOpen().Ask(kFind1));
  server_.Stop();  // The port refers to local variables.
}

TEST_F(FewSessionsTest, PortIsClosedWhereThereIsNoMemoryToLookItsAccountUp) {
  server_.settings.writes = false;
  server_.settings.workers = 1;
  server_.settings.may_serve = []() -> std::optional<bool> { throw std::bad_alloc(); };
  Start([](unsigned) { return true; });
  ASSERT_TRUE(LogSays("no memory to look up the account of a port (test): the port is closed"));
  EXPECT_FALSE(server_.ConnectFd().valid());
  server_.Stop();
}

TEST_F(FewSessionsTest, PortServesAsSoonAsItsAccountIsKnown) {
  server_.settings.workers = 2;
  std::atomic<bool> is_known{false};
  std::atomic<unsigned> asked{0};
  server_.settings.may_serve = [&]() -> std::optional<bool> {
    ++asked;
    return is_known ? std::optional(true) : std::nullopt;
  };
  Start([](unsigned) { return true; });
  LineClient client = server_.Connect();
  ASSERT_TRUE(Eventually([&] { return asked >= 4; }));
  EXPECT_EQ(0u, server_.Stat(Stat::kConnectionsAccepted));
  is_known = true;
  EXPECT_EQ("0\t1", client.Ask(kOpenIdV));
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  server_.Stop();  // The port refers to local variables.
}

TEST_F(FewSessionsTest, PortWhoseAccountIsNotKnownYetCanBeStopped) {
  std::atomic<unsigned> asked{0};
  server_.settings.may_serve = [&]() -> std::optional<bool> {
    ++asked;
    return std::nullopt;
  };
  Start([](unsigned) { return true; });
  ASSERT_TRUE(Eventually([&] { return asked >= 2; }));
  server_.Stop();
}

TEST_F(FewSessionsTest, PortIsClosedWhereNoWorkerGetsOne) {
  server_.settings.writes = false;
  server_.settings.workers = 3;
  Start([](unsigned) { return false; });
  ASSERT_TRUE(LogSays("the port is closed"));
  EXPECT_FALSE(server_.ConnectFd().valid());
  const auto list = std::make_shared<ConnectionList>(server_.port->workers());
  server_.port->List(list);
  EXPECT_TRUE(list->Await(std::chrono::seconds(20)).empty());
  server_.Stop();
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(FewSessionsTest, ExecutorWithoutOneGivesBatchesBack) {
  FewSessions none(server_.factory, [](unsigned) { return false; });
  Notification is_done;
  BatchExecutor executor(none, server_.stats, [&] { is_done.Notify(); });
  ASSERT_TRUE(executor.Start());
  Batch batch(executor.stats(), server_.commits);
  executor.Publish(batch);
  ASSERT_TRUE(is_done.Wait());
  EXPECT_EQ(&batch, executor.TakeDone());
  EXPECT_TRUE(batch.is_unserved);
  executor.Stop();
}

// The batch executor's thread starts before its worker's, and nothing says which asks first: the
// port is started until it is the executor that gets no session.
TEST_F(FewSessionsTest, WorkerWritesWhoseExecutorHasNone) {
  bool is_served = false;
  for (unsigned tries = 0; !is_served && tries < 200; ++tries) {
    if (tries != 0) Stop();
    Start([none = tries % 2](unsigned asked) { return asked != none; });
    net::UniqueFd fd = server_.ConnectFd();
    if (!fd.valid()) continue;
    LineClient client(std::move(fd));
    is_served = IsServed(client);
  }
  ASSERT_TRUE(is_served);
  LineClient first = server_.ConnectAndOpen(), second = server_.ConnectAndOpen();
  for (LineClient* const client : {&first, &second}) {
    EXPECT_EQ("0\t1\t1", client->Ask("0\t=\t1\t1\t1\t0\t+\t0\t1\n"));
  }
  EXPECT_EQ("1,12;2,20;3,30;", server_.store.Dump(kServedTable));
  EXPECT_TRUE(LogSays("no memory for the session of a batch executor"));
}

}  // namespace
}  // namespace rowsocket::exec
