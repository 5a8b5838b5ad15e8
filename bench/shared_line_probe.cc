// What it costs that several cores change one cache line, as they do with the word of a latch: one
// of the inputs of docs/GROWTH.md.
//
//   shared_line_probe [CORES]     default: all
//
// For 1 to CORES cores, with each thread on a core of its own, it prints nanoseconds per change (an
// atomic addition) of all cores together: when each core changes a line of its own, and when all
// change the same line. The least of many short windows counts, because other programs may take a
// core meanwhile.
// Errors: a core that the probe may not use, as in a container, ends it with 1, because two threads
//         on one core would measure something else.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace {

constexpr int kWindows = 100;
constexpr uint64_t kChanges = 100'000;  // What each core does in a window.

struct alignas(256) Line {
  std::atomic<uint64_t> value{0};
};

void StayOn(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  if (error == 0) return;
  std::fprintf(stderr, "shared_line_probe: no thread can be kept on core %u: %s\n", core,
               std::strerror(error));
  std::fflush(stdout);
  std::_Exit(1);  // The other threads would wait for this one.
}

/// Nanoseconds for each change, of all cores together, in the best window.
double NsOfChange(unsigned cores, bool is_shared) {
  std::vector<Line> lines(cores);
  std::atomic<uint64_t> ready{0}, done{0};
  double best = std::numeric_limits<double>::max();
  const auto change_often = [&](unsigned core) {
    StayOn(core);
    std::atomic<uint64_t>& line = lines[is_shared ? 0 : core].value;
    for (uint64_t window = 1; window <= kWindows; ++window) {
      ++ready;
      while (ready.load() < window * cores) {
      }
      const auto began = std::chrono::steady_clock::now();
      for (uint64_t i = 0; i < kChanges; ++i) line.fetch_add(1);
      ++done;
      while (done.load() < window * cores) {
      }
      const std::chrono::duration<double, std::nano> taken =
          std::chrono::steady_clock::now() - began;
      if (core == 0) best = std::min(best, taken.count() / static_cast<double>(kChanges * cores));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned core = 0; core < cores; ++core) threads.emplace_back(change_often, core);
  for (std::thread& thread : threads) thread.join();
  return best;
}

}  // namespace

int main(int count, char** arguments) {
  const unsigned all = std::max(1u, std::thread::hardware_concurrency());
  const long wanted = count > 1 ? std::strtol(arguments[1], nullptr, 10) : all;
  if (wanted < 1 || wanted > static_cast<long>(all)) {
    std::fprintf(stderr, "usage: shared_line_probe [CORES], of which there are %u\n", all);
    return 2;
  }
  for (unsigned cores = 1; cores <= static_cast<unsigned>(wanted); ++cores) {
    std::printf("%u cores: lines of their own %.1f ns/change, one line %.1f ns/change\n", cores,
                NsOfChange(cores, false), NsOfChange(cores, true));
  }
}
