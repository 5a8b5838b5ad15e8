#include "bench/stream_runner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/report.h"
#include "bench/sockets.h"
#include "bench/test_options.h"
#include "net/test_allocations.h"

namespace rowsocket::bench {
namespace {

constexpr int64_t kMs = 1'000'000;

/// Serves HandlerSocket's lines, one ready connection after the other, with the answers that
/// `answer` gives to a line; if there is no answer, the connection is closed.
class LineServer {
 public:
  using Answer = std::function<std::optional<std::string>(const std::string& line)>;

  explicit LineServer(Answer answer) : answer_(std::move(answer)) {
    listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~LineServer() {
    shutdown(listener_.get(), SHUT_RDWR);  // a ready listener without a connection ends Serve
    thread_.join();
  }

  uint16_t port() const { return port_; }

 private:
  struct Client {
    net::UniqueFd fd;
    std::string received;
  };

  void Serve() {
    for (;;) {
      std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
      for (const Client& client : clients_) polled.push_back({client.fd.get(), POLLIN, 0});
      poll(polled.data(), polled.size(), -1);
      for (size_t i = clients_.size(); i > 0; --i) {
        if (polled[i].revents != 0 && !Read(&clients_[i - 1])) {
          clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
        }
      }
      if (polled[0].revents == 0) continue;
      net::UniqueFd fd(accept(listener_.get(), nullptr, nullptr));
      if (!fd.valid()) return;
      clients_.push_back({std::move(fd), {}});
    }
  }
  bool Read(Client* client) {
    std::array<char, 4096> bytes;
    const ssize_t count = recv(client->fd.get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    client->received.append(bytes.data(), static_cast<size_t>(count));
    std::string replies;
    for (size_t end = client->received.find('\n'); end != std::string::npos;
         end = client->received.find('\n')) {
      const auto reply = answer_(client->received.substr(0, end));
      if (!reply) return false;
      client->received.erase(0, end + 1);
      replies += *reply + "\n";
    }
    return SendAll(client->fd.get(), replies.data(), replies.size());
  }

  const Answer answer_;
  net::UniqueFd listener_;
  uint16_t port_ = 0;
  std::vector<Client> clients_;
  std::thread thread_;
};

/// The row that a find of MakeOptions' table must get.
std::optional<std::string> RightRow(const std::string& line) {
  if (line[0] == 'P') return "0\t1";
  const std::string key = line.substr(line.rfind('\t') + 1);
  return "0\t2\tuser " + key + "\tu" + key + "@x";
}

struct Ran {
  bool connected = false;
  int64_t elapsed_ns = 0;  // From the schedule's start to the end of the run.
  std::string error;
  RunResult result;
};

Ran RunAgainst(const LineServer& server, Options options, const Share& share, int64_t warmup_ms,
               int64_t measured_ms) {
  options.port = server.port();
  Shared shared;
  StreamRunner runner(options, &shared, share);
  Ran ran;
  ran.connected = runner.Connect(&ran.error);
  if (!ran.connected) return ran;
  Schedule schedule;
  schedule.start_ns = NowNs();
  schedule.measure_from_ns = schedule.start_ns + warmup_ms * kMs;
  schedule.measure_to_ns = schedule.measure_from_ns + measured_ms * kMs;
  runner.Run(schedule);
  ran.elapsed_ns = NowNs() - schedule.start_ns;
  ran.result = std::move(runner.result());
  return ran;
}

Options GetOptions(size_t depth) {
  return MakeOptions("hs-get", [&](Options* o) { o->depth = depth; });
}

TEST(StreamRunner, EveryRequestOfAClosedLoopIsAnsweredAndCounted) {
  const LineServer server(RightRow);
  const Ran ran = RunAgainst(server, GetOptions(4), {0, 3, 500, 0}, 0, 60'000);
  ASSERT_TRUE(ran.connected) << ran.error;
  const RunResult& result = ran.result;
  EXPECT_EQ(result.measured.requests, 500u);
  EXPECT_EQ(result.measured.rows, 500u);
  EXPECT_EQ(result.measured.latency_ns.count(), 500u);
  EXPECT_EQ(result.outside.requests, 0u);
  EXPECT_EQ(result.measured.mismatches + result.measured.errors, 0u);
  EXPECT_EQ(result.unanswered, 0u);
  ASSERT_EQ(result.replies_per_connection.size(), 3u);
  EXPECT_EQ(result.replies_per_connection[0] + result.replies_per_connection[1] +
                result.replies_per_connection[2],
            500u);
}

TEST(StreamRunner, NothingIsAllocatedOnceItsBuffersHaveGrown) {
  constexpr size_t kConnections = 4;
  const LineServer server(RightRow);
  Options options = GetOptions(8);
  options.port = server.port();
  Shared shared;
  StreamRunner runner(options, &shared, {0, kConnections, 20'000, 0});
  std::string error;
  ASSERT_TRUE(runner.Connect(&error)) << error;
  const int64_t now = NowNs();
  const size_t before = net::AllocationCount();
  runner.Run({now, now, now + 60'000 * kMs});
  // The allocations that are allowed: each connection's beginning of a reply and its unsent bytes
  // grow a few times.
  EXPECT_LE(net::AllocationCount() - before, kConnections * 8);
  EXPECT_EQ(runner.result().measured.rows, 20'000u);
}

TEST(StreamRunner, WarmUpIsNotMeasured) {
  const LineServer server(RightRow);
  const Ran ran = RunAgainst(server, GetOptions(1), {0, 1, 200, 0}, 60'000, 1);
  ASSERT_TRUE(ran.connected) << ran.error;
  EXPECT_EQ(ran.result.measured.requests, 0u);
  EXPECT_EQ(ran.result.outside.requests, 200u);
  EXPECT_EQ(ran.result.replies_per_connection[0], 0u);
}

TEST(StreamRunner, AnotherRowsContentIsAMismatch) {
  int answered = 0;
  const LineServer server([&](const std::string& line) -> std::optional<std::string> {
    if (line[0] != 'P' && ++answered == 10) return "0\t2\tuser 0\tu0@x";
    return RightRow(line);
  });
  const Ran ran = RunAgainst(server, GetOptions(2), {0, 2, 50, 0}, 0, 60'000);
  ASSERT_TRUE(ran.connected) << ran.error;
  EXPECT_EQ(ran.result.measured.requests, 50u);
  EXPECT_EQ(ran.result.measured.mismatches, 1u);
  EXPECT_EQ(ran.result.measured.rows, 49u);
}

TEST(StreamRunner, AReplyThatNobodyAskedForIsAMismatch) {
  const LineServer server([](const std::string& line) -> std::optional<std::string> {
    if (line[0] == 'P') return "0\t1";
    return *RightRow(line) + "\n" + *RightRow(line);
  });
  const Ran ran = RunAgainst(server, GetOptions(1), {0, 1, 50, 0}, 0, 60'000);
  ASSERT_TRUE(ran.connected) << ran.error;
  EXPECT_EQ(ran.result.measured.mismatches, 1u);
  EXPECT_EQ(ran.result.disconnects, 1u);
}

TEST(StreamRunner, ALostConnectionIsCountedWithItsUnansweredRequests) {
  int answered = 0;
  const LineServer server([&](const std::string& line) -> std::optional<std::string> {
    if (line[0] != 'P' && ++answered > 10) return std::nullopt;
    return RightRow(line);
  });
  const Ran ran = RunAgainst(server, GetOptions(3), {0, 1, 0, 0}, 0, 60'000);
  ASSERT_TRUE(ran.connected) << ran.error;
  EXPECT_EQ(ran.result.disconnects, 1u);
  EXPECT_GE(ran.result.unanswered, 1u);
  EXPECT_LE(ran.result.unanswered, 3u);
}

TEST(StreamRunner, ARefusedHelloIsNoConnection) {
  const LineServer server([](const std::string&) { return "1\t1\topen_table"; });
  const Ran ran = RunAgainst(server, GetOptions(1), {0, 1, 1, 0}, 0, 1);
  EXPECT_FALSE(ran.connected);
  EXPECT_NE(ran.error.find("open_table"), std::string::npos);
}

TEST(StreamRunner, AFixedRateSendsOnlyRequestsThatAreDue) {
  const LineServer server(RightRow);
  const Ran ran = RunAgainst(server, GetOptions(8), {0, 2, 0, 2000}, 0, 200);
  ASSERT_TRUE(ran.connected) << ran.error;
  const RunResult& result = ran.result;
  // One request is due each half millisecond, the first at the very beginning: 400 within 0.2 s,
  // and more if the machine lets the program see the end late.
  const uint64_t requests = result.measured.requests + result.outside.requests;
  EXPECT_LE(requests, static_cast<uint64_t>(ran.elapsed_ns / (kMs / 2)) + 1);
  EXPECT_GE(requests + result.unsent, 399u);
  EXPECT_NEAR(static_cast<double>(result.replies_per_connection[0]),
              static_cast<double>(result.replies_per_connection[1]), 30);
}

TEST(StreamRunner, WithAFixedRateAStallOfTheServerIsPartOfTheLatencies) {
  constexpr int64_t kStallNs = 200 * kMs;
  int answered = 0;
  const LineServer server([&](const std::string& line) {
    if (line[0] != 'P' && answered++ == 0) {
      const timespec stall = {0, kStallNs};
      nanosleep(&stall, nullptr);
    }
    return RightRow(line);
  });
  // With one request in flight, 199 more become due while the first is stalled.
  const Ran ran = RunAgainst(server, GetOptions(1), {0, 1, 200, 1000}, 0, 60'000);
  ASSERT_TRUE(ran.connected) << ran.error;
  EXPECT_EQ(ran.result.measured.requests, 200u);
  EXPECT_GE(ran.result.measured.latency_ns.Percentile(100), static_cast<uint64_t>(kStallNs));
  EXPECT_GE(ran.result.measured.latency_ns.Percentile(50),
            static_cast<uint64_t>(kStallNs) * 4 / 10);
}

TEST(JainIndex, IsOneForEqualsAndSmallForGreed) {
  EXPECT_DOUBLE_EQ(JainIndex({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(JainIndex({20, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(JainIndex({0, 0}), 1);
}

TEST(IsRight, NeedsRightRepliesAndConservation) {
  const Options options =
      MakeOptions("hs-decrement", [](Options* o) { o->verify_conservation = true; });
  RunFacts facts;
  facts.result.measured.requests = 10;
  facts.result.measured.applied = 10;
  BeforeImages::Result images;
  images.collected = images.distinct = 10;
  EXPECT_TRUE(IsRight(options, facts, images));
  images.distinct = 9;
  EXPECT_FALSE(IsRight(options, facts, images));
  images.collected = 9;  // one applied change has no before-image
  EXPECT_FALSE(IsRight(options, facts, images));
  images.collected = images.distinct = 10;
  facts.result.outside.mismatches = 1;
  EXPECT_FALSE(IsRight(options, facts, images));
  facts.result.outside.mismatches = 0;
  facts.result.measured.errors = 10;
  EXPECT_FALSE(IsRight(options, facts, images));
}

}  // namespace
}  // namespace rowsocket::bench
