// A port on loopback over the in-memory engine, and clients that talk to it line by line.
// `make_frontend` decides which protocol the port speaks.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/fake/session.h"
#include "exec/port.h"
#include "net/test_sockets.h"

namespace rowsocket::exec {

/// Waits for what another thread does; false when it takes far too long.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class LineClient {
 public:
  explicit LineClient(net::UniqueFd fd) : fd_(std::move(fd)) { EXPECT_TRUE(fd_.valid()); }

  int fd() const { return fd_.get(); }
  void Send(std::string_view bytes) { net::WriteAll(fd_.get(), bytes); }
  /// The next line without its LF; "(end)" when the server has closed the connection.
  std::string ReadLine() {
    size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
      char bytes[16 * 1024];
      const ssize_t count = recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (count < 0 && errno == EAGAIN) return "(nothing)";
      if (count <= 0) return "(end)";
      received_.append(bytes, static_cast<size_t>(count));
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }
  std::string Ask(std::string_view line) {
    Send(line);
    return ReadLine();
  }
  void HalfClose() { shutdown(fd_.get(), SHUT_WR); }
  void Reset() { net::CloseWithReset(fd_); }
  void Close() { fd_.Reset(); }

 private:
  net::UniqueFd fd_;
  std::string received_;
};

class PortOnFake {
 public:
  static constexpr unsigned kLaneThreads = 4;

  PortOnFake() {
    settings.mode = "test";
    settings.workers_variable = "handlersocket_threads";
    settings.connections_variable = "handlersocket_connections_max";
    settings.memory_variable = "handlersocket_memory_max_bytes";
    settings.writes = true;
    // Without a limit of time, a busy machine does not change what is in a turn.
    settings.turn_ms_max = INT64_MAX;
    settings.addresses = {{net::Address::Kind::kTcp, "127.0.0.1", 0, "", false}};
    settings.limits.auth_timeout_s = 0;
  }
  ~PortOnFake() { Stop(); }

  /// Starts the port. Public members must be changed before.
  void Start() { port = StartPort(settings); }
  void Stop() {
    if (port == nullptr) return;
    port->AskToStop();
    lane.Stop();
    port->Stop();
    port.reset();
  }
  net::UniqueFd ConnectFd() const {
    return net::ConnectV4(port->listeners().front().address().port);
  }
  LineClient Connect() const { return LineClient(ConnectFd()); }
  /// Another port of the same server.
  class AnotherPort {
   public:
    AnotherPort(PortOnFake& server, bool writes) {
      PortSettings settings = server.settings;
      settings.writes = writes;
      port_ = server.StartPort(settings);
    }
    LineClient Connect() const {
      return LineClient(net::ConnectV4(port_->listeners().front().address().port));
    }

   private:
    std::unique_ptr<Port> port_;
  };
  uint64_t Stat(exec::Stat stat) const { return stats.Sum(stat); }
  std::vector<std::string> TakeLog() {
    const std::lock_guard lock(log_mutex_);
    return std::exchange(log_, {});
  }

  engine::fake::Store store;
  engine::fake::SessionFactory factory{store};
  /// Makes the sessions of workers and batch executors.
  engine::SessionFactory* sessions = &factory;
  StatRegistry stats;
  CommitBoard commits;
  WaitLane lane{factory, stats, commits, kLaneThreads};
  std::function<std::unique_ptr<Frontend>()> make_frontend;
  PortSettings settings;
  std::unique_ptr<Port> port;

 private:
  std::unique_ptr<Port> StartPort(const PortSettings& made) {
    auto starting = std::make_unique<Port>(made, *sessions, lane, stats, commits, make_frontend,
                                           [this](const std::string& text) {
                                             const std::lock_guard lock(log_mutex_);
                                             log_.push_back(text);
                                           });
    std::string error;
    EXPECT_TRUE(starting->Start(&error)) << error;
    return starting;
  }

  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

}  // namespace rowsocket::exec
