// What INFO tells of a RESP port beside the counters that all ports have.
//
// Errors are counted by the first word of their replies; words that are in no list count together,
// so that the number of counters is bounded. The counters of errors begin anew with the latencies,
// at FLUSH STATUS.
//
// Threads: any. Lifetime: outlives the port's connections.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/resp/command.h"

namespace rowsocket::frontend {

/// The version of Redis whose commands and shapes are answered: clients compare it.
inline constexpr std::string_view kRespRedisVersion = "7.2.0";

/// What connections count by themselves, and add to RespInfo now and then.
struct RespCounts {
  uint64_t commands = 0;
  uint64_t hits = 0;    ///< Keys that commands which read have found.
  uint64_t misses = 0;  ///< Keys that commands which read have not found.

  RespCounts& operator+=(const RespCounts& other) {
    commands += other.commands;
    hits += other.hits;
    misses += other.misses;
    return *this;
  }
};

/// The number of the first word of an error reply, with or without its '-'; 0: it is no error
/// reply. Words that are in no list have a number together.
uint8_t RespErrorOf(std::string_view reply);

/// How often calls of a command have failed.
struct RespFailures {
  uint64_t rejected = 0;  ///< Before anything of the call was tried.
  uint64_t failed = 0;
};

class RespInfo {
 public:
  RespInfo();

  void Add(const RespCounts& counts) {
    commands_.fetch_add(counts.commands, std::memory_order_relaxed);
    hits_.fetch_add(counts.hits, std::memory_order_relaxed);
    misses_.fetch_add(counts.misses, std::memory_order_relaxed);
  }
  /// REQUIRES: `command` is one of RespCommands().
  void AddRefused(const RespCommand& command) {
    refused_[NumberOf(command)].fetch_add(1, std::memory_order_relaxed);
  }

  /// An error reply to a command. `number`: the command's (RespCommandName). `flushes`: of the
  /// port's latencies (LatencyRegistry::flushes).
  void AddError(uint8_t error, uint32_t number, bool is_rejected, uint64_t flushes);
  RespFailures failures(uint32_t number, uint64_t flushes);
  /// A line `errorstat_WORD:count=COUNT` for each word that there was an error with.
  std::string ErrorLines(uint64_t flushes);
  uint64_t errors(uint64_t flushes);

  RespCounts counts() const {
    return {commands_.load(std::memory_order_relaxed), hits_.load(std::memory_order_relaxed),
            misses_.load(std::memory_order_relaxed)};
  }
  const std::string& run_id() const { return run_id_; }
  int64_t uptime_s() const;
  /// A line `refused_NAME:COUNT` for each command that is not served and that somebody has sent.
  std::string RefusedLines() const;

 private:
  std::string run_id_;  ///< 40 hexadecimal digits, chosen anew at each start.
  const int64_t started_ms_;
  std::atomic<uint64_t> commands_{0}, hits_{0}, misses_{0};
  std::array<std::atomic<uint64_t>, kRespCommandNumbers> refused_{};  ///< By number.
  /// Begins to count errors anew where the latencies have.
  void LookForFlush(uint64_t flushes);
  static constexpr size_t kErrorsMax = 32;
  std::atomic<uint64_t> flushes_{0};
  std::array<std::atomic<uint64_t>, kErrorsMax> errors_{};
  std::array<std::atomic<uint64_t>, kRespCommandNumbers> rejected_{}, failed_{};  ///< By number.
};

/// Bytes of memory that the server's process has; 0: unknown.
uint64_t ResidentBytes();

/// Time on processors that the server's process has used, in the kernel and outside of it.
struct RespCpuTimes {
  double system_s = 0;
  double user_s = 0;
};
RespCpuTimes ProcessCpuTimes();

}  // namespace rowsocket::frontend
