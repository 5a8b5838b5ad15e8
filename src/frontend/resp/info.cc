#include "frontend/resp/info.h"

#include <unistd.h>

#include <fstream>
#include <random>

#include "base/clock.h"

namespace rowsocket::frontend {

namespace {

std::string RandomHex(size_t digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  while (text.size() < digits) text.push_back(kDigits[random() & 15]);
  return text;
}

}  // namespace

RespInfo::RespInfo() : run_id_(RandomHex(40)), started_ms_(base::CoarseNowMs()) {}

int64_t RespInfo::uptime_s() const { return (base::CoarseNowMs() - started_ms_) / 1000; }

std::string RespInfo::RefusedLines() const {
  std::string lines;
  for (size_t i = 0; i < RespCommands().size() && i < refused_.size(); ++i) {
    const uint64_t count = refused_[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    lines.append("refused_").append(RespCommands()[i].name).append(":");
    lines.append(std::to_string(count)).append("\r\n");
  }
  return lines;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  if (!(statm >> all >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace rowsocket::frontend
