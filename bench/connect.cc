#include "bench/connect.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "bench/sockets.h"

namespace rowsocket::bench {
namespace {

constexpr int kHelloTimeoutS = 30;
constexpr size_t kReceiveBytes = 4096;

std::string ErrnoText(const char* what) { return std::string(what) + ": " + strerror(errno); }

bool ReadHello(Stream& stream, Workload* workload, size_t replies, std::string* error) {
  SetReceiveTimeout(stream.fd(), kHelloTimeoutS);
  std::string received;
  std::array<char, kReceiveBytes> input;
  for (size_t number = 0; number < replies;) {
    const Checked checked = workload->CheckHello(received, number);
    if (checked.bytes == 0) {
      const ssize_t count = stream.Receive(input.data(), input.size());
      if (count <= 0) {
        *error = count == 0 ? "connection closed by the server" : ErrnoText("recv");
        return false;
      }
      received.append(input.data(), static_cast<size_t>(count));
      continue;
    }
    if (checked.verdict != Verdict::kRight) {
      *error = "the server refused to begin: " + std::string(checked.text);
      return false;
    }
    received.erase(0, checked.bytes);
    ++number;
  }
  return true;
}

}  // namespace

bool OpenConnections(const Options& options, Workload* workload, size_t count, bool says_hello,
                     std::vector<Stream>* connections, std::string* error) {
  while (count > 0) {
    const size_t wave = std::min(count, kConnectWave);
    const size_t first = connections->size();
    std::array<size_t, kConnectWave> replies{};
    for (size_t i = 0; i < wave; ++i) {
      connections->push_back(Stream::Open(options));
      Stream& stream = connections->back();
      if (!stream.valid()) {
        *error = ErrnoText("cannot connect");
        return false;
      }
      const Hello hello = says_hello ? workload->MakeHello() : Hello();
      replies[i] = hello.replies;
      if (!stream.SendAll(hello.bytes.data(), hello.bytes.size())) {
        *error = ErrnoText("send");
        return false;
      }
    }
    for (size_t i = 0; i < wave; ++i) {
      if (!ReadHello((*connections)[first + i], workload, replies[i], error)) return false;
    }
    count -= wave;
  }
  return true;
}

}  // namespace rowsocket::bench
