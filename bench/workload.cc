#include "bench/workload.h"

#include <utility>

#include "bench/handlersocket.h"
#include "bench/memcached.h"
#include "bench/redis.h"
#include "bench/x_protocol.h"

namespace rowsocket::bench {
namespace {

/// Sends the requests of another workload and expects the same line as the reply to each line.
class FixedReply : public Workload {
 public:
  FixedReply(std::unique_ptr<Workload> requests, std::string reply)
      : requests_(std::move(requests)), reply_(std::move(reply) + "\n") {}

  Hello MakeHello() override { return requests_->MakeHello(); }
  Checked CheckHello(std::string_view received, size_t) override { return CheckLines(received, 1); }
  size_t RequestBytesMax() const override { return requests_->RequestBytesMax(); }
  size_t KeysPerRequest() const override { return requests_->KeysPerRequest(); }
  char* Build(char* at, Sent* sent, uint64_t* keys) override {
    return requests_->Build(at, sent, keys);
  }
  Checked Check(std::string_view received, const Sent&, const uint64_t*) override {
    return CheckLines(received, requests_->LinesPerReply());
  }

 private:
  Checked CheckLines(std::string_view received, size_t count) const {
    const size_t bytes = count * reply_.size();
    if (received.size() < bytes) return {};
    const std::string_view text = received.substr(0, bytes);
    bool right = true;
    for (size_t at = 0; at < bytes; at += reply_.size()) {
      right = right && text.substr(at, reply_.size()) == reply_;
    }
    return {bytes,
            right ? Verdict::kRight : Verdict::kMismatch,
            static_cast<uint32_t>(requests_->KeysPerRequest()),
            0,
            false,
            text};
  }

  const std::unique_ptr<Workload> requests_;
  const std::string reply_;
};

}  // namespace

std::unique_ptr<Workload> MakeWorkload(const Options& options, Shared* shared, uint64_t seed) {
  std::unique_ptr<Workload> workload;
  if (options.protocol == Protocol::kMemcached) {
    workload = MakeMemcached(options, shared, seed);
  } else if (options.protocol == Protocol::kRedis) {
    workload = MakeRedis(options, shared, seed);
  } else if (options.protocol == Protocol::kX) {
    workload = MakeXProtocol(options, shared, seed);
  } else {
    workload = MakeHandlerSocket(options, shared, seed);
  }
  if (options.expect_reply.empty()) return workload;
  return std::make_unique<FixedReply>(std::move(workload), Unescape(options.expect_reply));
}

}  // namespace rowsocket::bench
