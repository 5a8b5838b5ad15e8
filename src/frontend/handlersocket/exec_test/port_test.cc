// A port of several workers: which worker gets a connection, how many connections there may be,
// start and stop.
#include "exec/port.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>

#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

class PortTest : public ::testing::Test {
 protected:
  /// Connects the socket while the process has no file descriptor left for the port's end of the
  /// connection; then calls `meanwhile`, and gives the process its descriptors back.
  template <typename Meanwhile>
  void ConnectWithoutDescriptors(const net::UniqueFd& socket, Meanwhile meanwhile);

  TestPort server_;
};

/// Sets a limit of the process as long as it lives.
class ScopedLimit {
 public:
  ScopedLimit(__rlimit_resource_t resource, rlim_t soft) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit now{soft, before_.rlim_max};
    EXPECT_EQ(0, setrlimit(resource_, &now));
  }
  ~ScopedLimit() { setrlimit(resource_, &before_); }

 private:
  const __rlimit_resource_t resource_;
  rlimit before_;
};

template <typename Meanwhile>
void PortTest::ConnectWithoutDescriptors(const net::UniqueFd& socket, Meanwhile meanwhile) {
  // All numbers below the first free one are in use, and no higher number is allowed.
  const int first_free = dup(socket.get());
  close(first_free);
  const ScopedLimit limit(RLIMIT_NOFILE, static_cast<rlim_t>(first_free));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(server_.port->listeners().front().address().port);
  ASSERT_EQ(0, connect(socket.get(), reinterpret_cast<sockaddr*>(&where), sizeof(where)));
  meanwhile();
}

/// The sessions of a server that is loading plugins: they come only when the server has started.
class SessionsOfNoServerYet final : public engine::SessionFactory {
 public:
  std::unique_ptr<engine::Session> Create(engine::LockWait) override {
    given_up_.wait(false);
    return nullptr;
  }
  void Stop() {
    given_up_ = true;
    given_up_.notify_all();
  }

 private:
  std::atomic<bool> given_up_{false};
};

TEST_F(PortTest, ConnectionsAreSpreadOverTheWorkers) {
  constexpr unsigned kWorkers = 4, kConnections = 40;
  server_.settings.workers = kWorkers;
  server_.Start();
  std::mutex mutex;
  std::map<std::thread::id, unsigned> executed;
  std::vector<LineClient> clients;
  for (unsigned i = 0; i < kConnections; ++i) clients.push_back(server_.ConnectAndOpen());
  server_.store.SetHook([&](const Call& call) {
    const std::lock_guard lock(mutex);
    if (call.kind == Call::Kind::kExecute) ++executed[std::this_thread::get_id()];
    return Outcome();
  });
  for (LineClient& client : clients) EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ(kWorkers, executed.size());
  for (const auto& [thread, count] : executed) EXPECT_EQ(kConnections / kWorkers, count);
  server_.Stop();  // The hook uses local variables.
}

TEST_F(PortTest, WritersOfOneRowOnAllWorkersLoseNothing) {
  constexpr unsigned kClients = 8, kRequests = 100;
  server_.settings.workers = 4;
  server_.Start();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kClients; ++i) {
    threads.emplace_back([this, i] {
      LineClient client = server_.Connect();
      EXPECT_EQ("0\t1", client.Ask("P\t0\ttest\tt\t\tv\n"));
      for (unsigned j = 0; j < kRequests; ++j) {
        const std::string other = i % 2 == 0 ? "2" : "3";
        client.Send("0\t=\t1\t1\t1\t0\t+\t1\n0\t=\t1\t" + other + "\t1\t0\t+\t1\n");
        ASSERT_EQ("0\t1\t1", client.ReadLine());
        ASSERT_EQ("0\t1\t1", client.ReadLine());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ("1,810;2,420;3,430;", server_.store.Dump(kServedTable));
  EXPECT_EQ(2 * kClients * kRequests, server_.Stat(Stat::kIncrements));
  EXPECT_EQ(2 * kClients * kRequests, server_.Stat(Stat::kRowsWritten));
}

TEST_F(PortTest, ConnectionsAboveTheLimitAreClosed) {
  server_.settings.workers = 3;
  server_.settings.limits.connections_max = 10;
  server_.Start();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<LineClient> served;
  std::atomic<unsigned> refused{0};
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (unsigned j = 0; j < 5; ++j) {
        LineClient client = server_.Connect();
        send(client.fd(), kOpenIdV, sizeof(kOpenIdV) - 1, MSG_NOSIGNAL);
        if (client.ReadLine() != "0\t1") {
          ++refused;
          continue;
        }
        const std::lock_guard lock(mutex);
        served.push_back(std::move(client));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(10u, served.size());
  EXPECT_EQ(20u, refused);
  EXPECT_EQ(10u, server_.Stat(Stat::kConnections));
  EXPECT_EQ(10u, server_.Stat(Stat::kConnectionsAccepted));
  // A client may see its end before the connection is counted.
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsRefused) == 20; }));
  const std::vector<std::string> log = server_.TakeLog();
  EXPECT_GE(log.size(), 1u);
  EXPECT_LE(log.size(), server_.settings.workers);  // The log repeats a refusal only once a minute.
  EXPECT_NE(std::string::npos, log.front().find("connections_max"));
  for (LineClient& client : served) EXPECT_EQ(kRow1, client.Ask(kFind1));

  served.pop_back();
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 9; }));
  EXPECT_EQ("0\t1", server_.Connect().Ask(kOpenIdV));
}

TEST_F(PortTest, WithoutFileDescriptorsItRestsAndGoesOn) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  EXPECT_EQ(kRow1, client.Ask(kFind1));
  const net::UniqueFd late(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ConnectWithoutDescriptors(late, [&] {
    ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsRefused) > 1; }));
    EXPECT_EQ(kRow1, client.Ask(kFind1));
  });
  net::WriteAll(late.get(), kOpenIdV);
  EXPECT_EQ("0\t1\n", net::ReadExactly(late.get(), 4));
  const std::vector<std::string> log = server_.TakeLog();
  ASSERT_EQ(1u, log.size());
  EXPECT_NE(std::string::npos, log.front().find("open_files_limit")) << log.front();
}

TEST_F(PortTest, AListenerThatWasShutDownRefusesNobody) {
  server_.settings.workers = 1;
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  for (const net::Listener& listener : server_.port->listeners()) listener.FreeAddress();
  // The worker has seen the event of the listener when it has answered what came after it.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kRow1, client.Ask(kFind1));
  EXPECT_EQ(0u, server_.Stat(Stat::kConnectionsRefused));
  EXPECT_TRUE(server_.TakeLog().empty());
}

TEST_F(PortTest, LineAboutOneReasonToRefuseHidesNoLineAboutAnother) {
  server_.settings.limits.connections_max = 1;
  server_.Start();
  const LineClient client = server_.ConnectAndOpen();
  EXPECT_EQ("(end)", server_.Connect().ReadLine());
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsRefused) == 1; }));
  const net::UniqueFd late(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ConnectWithoutDescriptors(late, [this] {
    ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnectionsRefused) > 2; }));
  });
  const std::vector<std::string> log = server_.TakeLog();
  ASSERT_EQ(2u, log.size());
  EXPECT_NE(std::string::npos, log[0].find("connections_max")) << log[0];
  EXPECT_NE(std::string::npos, log[1].find("open_files_limit")) << log[1];
}

TEST_F(PortTest, StopWithThousandsOfConnectionsIsQuick) {
  constexpr unsigned kConnections = 3000;
  server_.settings.workers = 4;
  server_.Start();
  std::vector<net::UniqueFd> clients;
  for (unsigned i = 0; i < kConnections; ++i) {
    clients.push_back(server_.ConnectFd());
    ASSERT_TRUE(clients.back().valid());
  }
  ASSERT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == kConnections; }));
  std::vector<std::unique_ptr<engine::fake::Holding>> held;
  for (const char* key : {"1", "2", "3"})
    held.push_back(server_.store.LockRow(kServedTable, {key}));
  for (unsigned i = 0; i < kConnections; i += 3) {
    const std::string key = std::to_string(1 + i / 3 % 3);
    net::WriteAll(clients[i].get(), std::string(kOpenIdV) + "0\t=\t1\t" + key + "\t1\t0\tD\n");
  }
  ASSERT_TRUE(server_.store.AwaitWaiting(3));
  const auto began = std::chrono::steady_clock::now();
  server_.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_EQ(0u, server_.Stat(Stat::kConnections));
  EXPECT_EQ(0u, server_.store.sessions());
  EXPECT_EQ("1,10;2,20;3,30;", server_.store.Dump(kServedTable));
}

TEST_F(PortTest, StopOfWorkersInLongStatementsIsQuick) {
  constexpr unsigned kWorkers = 10;
  server_.settings.workers = kWorkers;
  server_.Start();
  std::vector<LineClient> clients;
  for (unsigned i = 0; i < kWorkers; ++i) clients.push_back(server_.ConnectAndOpen());
  const auto delay = server_.store.DelayRow(kServedTable, {"1"});
  for (LineClient& client : clients) client.Send(kFind1);
  ASSERT_TRUE(server_.store.AwaitWaiting(kWorkers));
  const auto began = std::chrono::steady_clock::now();
  server_.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(PortTest, StopUnderTrafficTellsNoLies) {
  server_.settings.workers = 2;
  server_.Start();
  std::atomic<unsigned> acknowledged{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i) {
    threads.emplace_back([client = server_.Connect(), &acknowledged]() mutable {
      if (client.Ask("P\t0\ttest\tt\t\tv\n") != "0\t1") return;
      for (;;) {
        const char request[] = "0\t=\t1\t1\t1\t0\t+\t1\n";
        if (send(client.fd(), request, sizeof(request) - 1, MSG_NOSIGNAL) <= 0) return;
        const std::string reply = client.ReadLine();
        if (reply == "(end)") return;
        if (reply == "0\t1\t1") ++acknowledged;
      }
    });
  }
  ASSERT_TRUE(Eventually([&] { return acknowledged > 200; }));
  server_.Stop();
  for (std::thread& thread : threads) thread.join();
  // Every acknowledged change is in the row; a reply or two may have been lost on the way.
  const std::string dump = server_.store.Dump(kServedTable);
  const unsigned value = static_cast<unsigned>(std::stoul(dump.substr(2)));
  EXPECT_GE(value, 10 + acknowledged);
  EXPECT_LE(value, 10 + acknowledged + 6);
}

TEST_F(PortTest, MayStopAtOnce) {
  server_.settings.workers = 8;
  for (int i = 0; i < 20; ++i) {
    server_.Start();
    server_.port->Stop();
  }
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(PortTest, WithoutSessionsItStopsAllTheSame) {
  server_.store.ShutDown();
  server_.Start();
  const LineClient client = server_.Connect();
  server_.Stop();
}

TEST_F(PortTest, AddressInUseIsAnErrorAtStart) {
  server_.Start();
  const uint16_t port = server_.port->listeners().front().address().port;
  PortSettings settings = server_.settings;
  settings.addresses = {{net::Address::Kind::kTcp, "127.0.0.1", port, "", false}};
  Port second(
      settings, server_.factory, server_.lane, server_.stats, server_.commits,
      [] { return nullptr; }, [](const std::string&) {});
  std::string error;
  EXPECT_FALSE(second.Start(&error));
  EXPECT_NE(std::string::npos, error.find(std::to_string(port))) << error;
  EXPECT_EQ("0\t1", server_.Connect().Ask(kOpenIdV));
}

TEST_F(PortTest, MissingThreadIsAnErrorAtStart) {
  const auto start_without_threads = [this] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    Port port(
        server_.settings, server_.factory, server_.lane, server_.stats, server_.commits,
        [] { return nullptr; }, [](const std::string&) {});
    std::string error;
    const bool started = port.Start(&error);
    _exit(!started && error.find("handlersocket_threads") != std::string::npos ? 0 : 2);
  };
  EXPECT_EXIT(start_without_threads(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PortTest, WorkersLeaveTheServerItsDescriptors) {
  server_.settings.limits.descriptors_max = 3;  // Standard input, output and error.
  Port port(
      server_.settings, server_.factory, server_.lane, server_.stats, server_.commits,
      [] { return nullptr; }, [](const std::string&) {});
  std::string error;
  EXPECT_FALSE(port.Start(&error));
  EXPECT_NE(std::string::npos, error.find("raise open_files_limit, or lower handlersocket_threads"))
      << error;
}

/// Call it in a separate process, which it ends: with 0 if the start fails because the system gives
/// no thread. The alarm ends a start that does not return.
void StartWhereWorkersWait(TestPort& server, rlim_t threads_left) {
  alarm(20);
  const rlimit limit{1 + threads_left, 1 + threads_left};
  setrlimit(RLIMIT_NPROC, &limit);
  constexpr uid_t kUserOfNothing = 64'321;
  // A user other than root already has more processes than the limit, and would get no thread at
  // all.
  if (geteuid() == 0 && setuid(kUserOfNothing) != 0) _exit(3);
  SessionsOfNoServerYet sessions;
  WaitLane lane(sessions, server.stats, server.commits, TestPort::kLaneThreads);
  server.settings.workers = 3;
  server.settings.workers_variable = "the_variable";
  auto port = std::make_unique<Port>(server.settings, sessions, lane, server.stats, server.commits,
                                     server.make_frontend, [](const std::string&) {});
  std::string error;
  const bool started = port->Start(&error);
  sessions.Stop();
  port->Stop();
  port.reset();
  const bool is_clear = error.find("more threads, or lower the_variable") != std::string::npos;
  fputs(error.c_str(), stderr);
  _exit(!started && is_clear ? 0 : 2);
}

TEST_F(PortTest, WorkerThatCannotStartDoesNotWaitForOthersThatWaitForTheServer) {
  constexpr rlim_t kOfAWorker = 2;  // For a worker: its own thread and its executor's.
  for (rlim_t count = 0; count < 2 * kOfAWorker; ++count) {
    EXPECT_EXIT(StartWhereWorkersWait(server_, count), ::testing::ExitedWithCode(0), "") << count;
  }
}

}  // namespace
}  // namespace rowsocket::exec
