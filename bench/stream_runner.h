// A thread that keeps requests of a stream protocol in flight on its connections: epoll, one
// receive and one send per readiness, no allocation once buffers have grown.
//
// Flow: Connect: see connect.h.
//       Per readiness: Receive -> Judge each reply -> FillConnection -> Send.
// Threads: see runner.h.
// Limits: kReceiveBytes per receive; a reply may be longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/runner.h"
#include "bench/stream.h"

namespace rowsocket::bench {

class StreamRunner : public Runner {
 public:
  static constexpr size_t kReceiveBytes = size_t{256} << 10;

  StreamRunner(const Options& options, Shared* shared, Share share);
  ~StreamRunner() override;

  bool Connect(std::string* error) override;

 protected:
  void Fill(size_t number, int64_t now) override;
  void OnReady(void* tag, uint32_t events) override;

 private:
  struct Connection {
    size_t number = 0;
    Stream stream;
    std::vector<Sent> sent;      ///< A ring of `depth` requests.
    std::vector<uint64_t> keys;  ///< KeysPerRequest keys for each request in `sent`.
    size_t first = 0;
    size_t in_flight = 0;
    uint64_t built = 0;    ///< The number of requests so far.
    std::string received;  ///< The beginning of a reply.
    std::string unsent;    ///< Bytes that the socket did not take.
    bool waits_to_send = false;
  };

  void FillConnection(Connection* connection, int64_t now);
  void Send(Connection* connection, const char* bytes, size_t count);
  void SendUnsent(Connection* connection);
  /// Receives what has come. False when there was nothing.
  bool Receive(Connection* connection);
  /// Judges all complete replies, and returns the number of their bytes.
  size_t JudgeAll(Connection* connection, std::string_view received, int64_t now);
  void Judge(Connection* connection, const Checked& checked, int64_t now);
  void Lose(Connection* connection);

  const std::unique_ptr<Workload> workload_;
  const size_t keys_per_request_;
  std::vector<Connection> connections_;
  std::vector<char> input_;
  std::vector<char> output_;
};

}  // namespace rowsocket::bench
