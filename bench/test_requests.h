// Builds requests of a stream workload and judges replies to them, as a Runner would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"

namespace rowsocket::bench {

inline constexpr auto kRight = Verdict::kRight;
inline constexpr auto kError = Verdict::kError;
inline constexpr auto kMismatch = Verdict::kMismatch;

class Requests {
 public:
  explicit Requests(const Options& options, uint64_t seed = 1)
      : workload_(MakeWorkload(options, &shared_, seed)), keys_(workload_->KeysPerRequest()) {}

  /// The buffer has exactly RequestBytesMax() bytes, so that the sanitizer finds a longer request.
  std::string Build() {
    std::vector<char> bytes(workload_->RequestBytesMax());
    const char* end = workload_->Build(bytes.data(), &sent_, keys_.data());
    return {bytes.data(), static_cast<size_t>(end - bytes.data())};
  }
  /// Judges a reply to a request for `keys`.
  Checked Check(std::string_view reply, const std::vector<uint64_t>& keys) {
    sent_.key = keys[0];
    return workload_->Check(reply, sent_, keys.data());
  }
  Checked Check(std::string_view reply) { return workload_->Check(reply, sent_, keys_.data()); }

  /// Whether every beginning of `reply` is judged "not complete yet", and the whole is one reply
  /// with that verdict, even with more bytes after it.
  bool IsOneReply(const std::string& reply, Verdict verdict, const std::vector<uint64_t>& keys) {
    for (size_t length = 0; length < reply.size(); ++length) {
      // Each beginning is a copy of its own, so that the sanitizer finds a read after it.
      const std::vector<char> beginning(reply.begin(),
                                        reply.begin() + static_cast<std::ptrdiff_t>(length));
      if (Check({beginning.data(), beginning.size()}, keys).bytes != 0) return false;
    }
    const Checked whole = Check(reply, keys);
    const Checked more = Check(reply + "0", keys);
    return whole.bytes == reply.size() && whole.verdict == verdict && more.bytes == reply.size() &&
           more.verdict == verdict;
  }

  Workload* workload() { return workload_.get(); }
  Shared* shared() { return &shared_; }
  const std::vector<uint64_t>& keys() const { return keys_; }
  const Sent& sent() const { return sent_; }

 private:
  Shared shared_;
  std::unique_ptr<Workload> workload_;
  std::vector<uint64_t> keys_;
  Sent sent_;
};

}  // namespace rowsocket::bench
