// The contract between the threads that move bytes and the workloads that know the meaning of the
// bytes.
//
// Flow: per connection: Hello() is sent, CheckHello() judges its replies, one by one; then
//       Build() writes requests, Check() judges their replies, in the order of the requests.
// Threads: one Workload object per thread.
// Lifetime: Options outlive it.
// Limits: Build writes at most RequestBytesMax() bytes and KeysPerRequest() keys.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/options.h"
#include "bench/tally.h"

namespace rowsocket::bench {

/// A request that waits for its reply.
struct Sent {
  uint64_t key = 0;      ///< The row; if there are several keys, the first.
  int64_t since_ns = 0;  ///< When the request was sent, or, with a fixed rate, was due.
  uint8_t kind = 0;      ///< The workload's own distinction, such as read or write.
};

/// What Check says about the beginning of the received bytes.
struct Checked {
  size_t bytes = 0;  ///< Length of the reply; 0: the reply is not complete yet.
  Verdict verdict = Verdict::kRight;
  uint32_t rows = 0;
  uint64_t before = 0;  ///< kApplied with has_before: the value before the change.
  bool has_before = false;
  std::string_view text;  ///< kError, kMismatch: the text, a part of the received bytes.
};

struct Hello {
  std::string bytes;
  size_t replies = 0;
};

/// The state that all threads of a run share.
struct Shared {
  std::atomic<uint64_t> next_insert_id{1};
  std::atomic<uint64_t> next_fill{1};
  std::atomic<uint64_t> next_serial{1};
};

/// The next row that a workload which fills a server writes: 1 to --rows, each of them once.
inline uint64_t NextToFill(const Options& options, Shared* shared) {
  return 1 + (shared->next_fill.fetch_add(1, std::memory_order_relaxed) - 1) % options.rows;
}

class Workload {
 public:
  virtual ~Workload() = default;

  virtual Hello MakeHello() { return {}; }
  /// Judges reply `number`, from 0, of the hello.
  virtual Checked CheckHello(std::string_view received, size_t number) = 0;

  virtual size_t RequestBytesMax() const = 0;
  virtual size_t KeysPerRequest() const { return 1; }
  virtual size_t LinesPerReply() const { return 1; }  ///< Other than 1 in protocols of lines.
  /// Writes one request to `at` and returns its end; fills `sent` and `keys`.
  virtual char* Build(char* at, Sent* sent, uint64_t* keys) = 0;
  /// Judges one reply. `keys` are the keys that Build filled in.
  virtual Checked Check(std::string_view received, const Sent& sent, const uint64_t* keys) = 0;
};

/// The workload that options.workload names; with --expect-reply, a workload for a server that
/// gives one answer to everything. REQUIRES: the workload is not an SQL workload.
std::unique_ptr<Workload> MakeWorkload(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
