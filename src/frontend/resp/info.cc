#include "frontend/resp/info.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "base/random_seed.h"

namespace rowsocket::frontend {

namespace {

std::string RandomHex(size_t digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::mt19937_64 random{base::RandomSeed()};
  std::string text;
  while (text.size() < digits) text.push_back(kDigits[random() & 15]);
  return text;
}

/// First words of error replies to commands of which nothing was tried. Their numbers begin with 1.
constexpr std::string_view kRejections[] = {"NOAUTH", "NOPERM",  "NOTSERVED", "READONLY",
                                            "RATE",   "NEEDTLS", "OFFLINE"};
/// First words of other error replies, whose numbers come after those of the rejections.
constexpr std::string_view kFailures[] = {
    "ERR",          "CONSTRAINT", "EXECABORT", "GUARD",     "KILLED",   "NOFIELD",
    "NOPROTO",      "NOROW",      "NOSCRIPT",  "NOSTORE",   "NOTABLE",  "NOTOKENS",
    "TOKENDIFFERS", "TOOLARGE",   "TRYAGAIN",  "WRONGPASS", "WRONGTYPE"};
/// The number of all other words together.
constexpr size_t kOtherError = std::size(kRejections) + std::size(kFailures) + 1;

std::string_view ErrorName(size_t error) {
  if (error == kOtherError) return "OTHER";
  if (error <= std::size(kRejections)) return kRejections[error - 1];
  return kFailures[error - std::size(kRejections) - 1];
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

uint8_t RespErrorOf(std::string_view reply) {
  if (reply.starts_with('-')) reply.remove_prefix(1);
  const std::string_view word = reply.substr(0, reply.find(' '));
  size_t error = 1;
  while (error != kOtherError && ErrorName(error) != word) ++error;
  return static_cast<uint8_t>(error);
}

void RespInfo::LookForFlush(uint64_t flushes) {
  if (flushes_.load(std::memory_order_relaxed) == flushes) return;
  if (flushes_.exchange(flushes, std::memory_order_relaxed) == flushes) return;
  for (auto* const counters : {&rejected_, &failed_}) {
    for (auto& counter : *counters) counter.store(0, std::memory_order_relaxed);
  }
  for (auto& counter : errors_) counter.store(0, std::memory_order_relaxed);
}

void RespInfo::AddError(uint8_t error, uint32_t number, bool is_rejected, uint64_t flushes) {
  static_assert(kOtherError < kErrorsMax);
  LookForFlush(flushes);
  if (error < kErrorsMax) errors_[error].fetch_add(1, std::memory_order_relaxed);
  if (number >= kRespCommandNumbers) return;
  auto& counters = is_rejected || error <= std::size(kRejections) ? rejected_ : failed_;
  counters[number].fetch_add(1, std::memory_order_relaxed);
}

RespFailures RespInfo::failures(uint32_t number, uint64_t flushes) {
  LookForFlush(flushes);
  if (number >= kRespCommandNumbers) return {};
  return {rejected_[number].load(std::memory_order_relaxed),
          failed_[number].load(std::memory_order_relaxed)};
}

std::string RespInfo::ErrorLines(uint64_t flushes) {
  LookForFlush(flushes);
  std::string lines;
  for (size_t error = 1; error <= kOtherError; ++error) {
    const uint64_t count = errors_[error].load(std::memory_order_relaxed);
    if (count == 0) continue;
    lines.append("errorstat_").append(ErrorName(error)).append(":count=");
    lines.append(std::to_string(count)).append("\r\n");
  }
  return lines;
}

uint64_t RespInfo::errors(uint64_t flushes) {
  LookForFlush(flushes);
  uint64_t sum = 0;
  for (const auto& counter : errors_) sum += counter.load(std::memory_order_relaxed);
  return sum;
}

RespInfo::RespInfo() : run_id_(RandomHex(40)), started_ms_(base::CoarseNowMs()) {}

int64_t RespInfo::uptime_s() const { return (base::CoarseNowMs() - started_ms_) / 1000; }

std::string RespInfo::RefusedLines() const {
  std::string lines;
  for (uint32_t number = 1; number < kRespCommandNumbers; ++number) {
    const uint64_t count = refused_[number].load(std::memory_order_relaxed);
    if (count == 0) continue;
    lines.append("refused_").append(RespCommandName(number)).append(":");
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

RespCpuTimes ProcessCpuTimes() {
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) != 0) return {};
  return {Seconds(used.ru_stime), Seconds(used.ru_utime)};
}

}  // namespace rowsocket::frontend
