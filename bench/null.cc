// rowsocket-null: answers the same line to every line that it receives, and does nothing else. Its
// cost is the cost of the network, the lower bound for every server of such a protocol.
//
// Flow: main accepts and hands connections out to the threads in turn; each thread: epoll, one
//       receive, count the LF, one send. A connection that does not read is not read from.
// Threads: each connection stays with one thread. The server ends on SIGTERM, SIGINT, or when its
// standard input ends.
// Limits: kReceiveBytes per receive; a batch of replies is sent from one prepared block, a larger
// batch in several sends.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/sockets.h"
#include "bench/text.h"
#include "net/unique_fd.h"

namespace rowsocket::bench {
namespace {

constexpr size_t kReceiveBytes = size_t{64} << 10;
constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int kBacklog = 4096;
constexpr size_t kEventsMax = 256;

struct Client {
  net::UniqueFd fd;
  uint64_t unsent_bytes = 0;  ///< Bytes of replies that are owed to the client.
  size_t offset = 0;          ///< The place of the next byte in the reply.
};

/// The connections of one thread.
class Answerer {
 public:
  explicit Answerer(const std::string& reply)
      : reply_bytes_(reply.size()), epoll_(epoll_create1(EPOLL_CLOEXEC)), input_(kReceiveBytes) {
    while (block_.size() < kBlockBytes) block_ += reply;
  }

  /// Takes a connection over; may be called from any thread.
  void Take(net::UniqueFd fd) {
    auto* client = new Client{std::move(fd)};  // deleted when its connection ends
    epoll_event event = {EPOLLIN, {client}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, client->fd.get(), &event) != 0) delete client;
  }

  [[noreturn]] void Run() {
    std::array<epoll_event, kEventsMax> events;
    for (;;) {
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) Serve(static_cast<Client*>(events[i].data.ptr));
    }
  }

 private:
  void Serve(Client* client) {
    const bool was_full = client->unsent_bytes > 0;
    if (!was_full) {
      const ssize_t count = recv(client->fd.get(), input_.data(), input_.size(), MSG_DONTWAIT);
      if (count <= 0) {
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) delete client;
        return;
      }
      const auto lines = std::count(input_.data(), input_.data() + count, '\n');
      client->unsent_bytes = static_cast<uint64_t>(lines) * reply_bytes_;
    }
    if (!Send(client)) {
      delete client;
      return;
    }
    const bool is_full = client->unsent_bytes > 0;
    if (is_full == was_full) return;
    epoll_event event = {is_full ? EPOLLOUT : EPOLLIN, {client}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client->fd.get(), &event);
  }

  bool Send(Client* client) const {
    while (client->unsent_bytes > 0) {
      const size_t count = std::min<uint64_t>(client->unsent_bytes, block_.size() - client->offset);
      const ssize_t sent = send(client->fd.get(), block_.data() + client->offset, count,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) return errno == EAGAIN;
      client->unsent_bytes -= static_cast<uint64_t>(sent);
      client->offset = (client->offset + static_cast<size_t>(sent)) % reply_bytes_;
    }
    return true;
  }

  const size_t reply_bytes_;
  net::UniqueFd epoll_;
  std::string block_;
  std::vector<char> input_;
};

net::UniqueFd ListenOn(uint16_t port, const std::string& path, uint16_t* bound) {
  const bool local = !path.empty();
  net::UniqueFd fd(socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (local) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return {};
    memcpy(address.sun_path, path.data(), path.size());
    unlink(path.c_str());
    if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  } else {
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t bytes = sizeof address;
    if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
      return {};
    }
    *bound = ntohs(address.sin_port);
  }
  return listen(fd.get(), kBacklog) == 0 ? std::move(fd) : net::UniqueFd();
}

/// A descriptor that becomes readable on SIGTERM and SIGINT.
net::UniqueFd EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return net::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

bool InputHasEnded() {
  std::array<char, 256> ignored;
  return read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
}

// Accepts connections until the end signal or the end of the standard input. A standard input that
// epoll refuses, such as a file or /dev/null, never ends the server.
void AcceptUntilEnd(int listener, int signals, std::vector<std::unique_ptr<Answerer>>* answerers) {
  const net::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {listener, signals, STDIN_FILENO}) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
  }
  for (size_t next = 0;;) {
    epoll_event event;
    if (epoll_wait(epoll.get(), &event, 1, -1) != 1) continue;
    if (event.data.fd == signals) return;
    if (event.data.fd == STDIN_FILENO) {
      if (InputHasEnded()) return;
      continue;
    }
    net::UniqueFd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    const int on = 1;
    setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (*answerers)[next++ % answerers->size()]->Take(std::move(client));
  }
}

int Main(int argc, char** argv) {
  uint16_t port = 0;
  std::string path;
  size_t threads = 1;
  std::string reply = "0\\t1";
  CLI::App app("Answers one line to every line. Prints PORT=n when it listens.");
  app.option_defaults()->always_capture_default();
  app.add_option("--port", port, "on 127.0.0.1; 0: any that is free");
  app.add_option("--socket", path, "path of a UNIX socket, instead of a port");
  app.add_option("--threads", threads, "that answer")->check(CLI::Range(1, 64));
  app.add_option("--reply", reply, "text (\\t \\r \\n), to which LF is added");
  CLI11_PARSE(app, argc, argv);
  RaiseDescriptorLimit();
  const net::UniqueFd signals = EndSignals();
  const net::UniqueFd listener = ListenOn(port, path, &port);
  if (!listener.valid()) {
    std::perror("rowsocket-null: cannot listen");
    return 1;
  }
  std::vector<std::unique_ptr<Answerer>> answerers;
  for (size_t i = 0; i < threads; ++i) {
    answerers.push_back(std::make_unique<Answerer>(Unescape(reply) + "\n"));
    std::thread([answerer = answerers.back().get()] { answerer->Run(); }).detach();
  }
  if (path.empty()) {
    std::printf("PORT=%u\n", port);
  } else {
    std::printf("SOCKET=%s\n", path.c_str());
  }
  std::fflush(stdout);
  AcceptUntilEnd(listener.get(), signals.get(), &answerers);
  if (!path.empty()) unlink(path.c_str());
  std::_Exit(0);  // the threads are still answering
}

}  // namespace
}  // namespace rowsocket::bench

int main(int argc, char** argv) { return rowsocket::bench::Main(argc, argv); }
