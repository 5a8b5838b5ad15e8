// What INFO says about a RESP port besides the counters that all ports have.
//
// Errors are counted by the first word of their replies; all words that are in no list share one
// counter, so that the number of counters is bounded. FLUSH STATUS makes the counters of errors
// begin anew, together with the latencies.
//
// Threads: any.
// Lifetime: outlives the port's connections.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontend/resp/command.h"

namespace rowsocket::frontend {

/// The version of Redis whose commands and replies are imitated; clients compare it.
inline constexpr std::string_view kRespRedisVersion = "7.2.0";

/// What connections count by themselves, and add to RespInfo now and then.
struct RespCounts {
  uint64_t commands = 0;
  uint64_t hits = 0;    ///< Keys that reading commands have found.
  uint64_t misses = 0;  ///< Keys that reading commands have not found.

  RespCounts& operator+=(const RespCounts& other) {
    commands += other.commands;
    hits += other.hits;
    misses += other.misses;
    return *this;
  }
};

/// The number of the first word of an error reply, with or without its '-'; 0: the reply is no
/// error. All words that are in no list share a number.
uint8_t RespErrorOf(std::string_view reply);

/// How often calls of a command have failed.
struct RespFailures {
  uint64_t rejected = 0;  ///< Refused before anything of the call was tried.
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
  /// Counts a command that is answered that it is not served. REQUIRES: `command` is one of
  /// RespCommands().
  void AddRefused(const RespCommand& command) {
    refused_[NumberOf(command)].fetch_add(1, std::memory_order_relaxed);
  }

  /// Counts an error reply to a command. `number`: the command's (RespCommandName). `flushes`: how
  /// often the port's latencies have begun anew (LatencyRegistry::flushes).
  void AddError(uint8_t error, uint32_t number, bool is_rejected, uint64_t flushes);
  RespFailures failures(uint32_t number, uint64_t flushes);
  /// A line `errorstat_WORD:count=COUNT` for each word that an error reply has begun with.
  std::string ErrorLines(uint64_t flushes);
  uint64_t errors(uint64_t flushes);

  RespCounts counts() const {
    return {commands_.load(std::memory_order_relaxed), hits_.load(std::memory_order_relaxed),
            misses_.load(std::memory_order_relaxed)};
  }
  const std::string& run_id() const { return run_id_; }
  int64_t uptime_s() const;
  /// A line `refused_NAME:COUNT` for each command for which AddRefused was called.
  std::string RefusedLines() const;

 private:
  std::string run_id_;  ///< 40 hexadecimal digits, chosen anew at each start.
  const int64_t started_ms_;
  std::atomic<uint64_t> commands_{0}, hits_{0}, misses_{0};
  std::array<std::atomic<uint64_t>, kRespCommandNumbers> refused_{};  ///< By number.
  /// Begins to count errors anew if the latencies have begun anew.
  void LookForFlush(uint64_t flushes);
  static constexpr size_t kErrorsMax = 32;
  std::atomic<uint64_t> flushes_{0};
  std::array<std::atomic<uint64_t>, kErrorsMax> errors_{};
  std::array<std::atomic<uint64_t>, kRespCommandNumbers> rejected_{}, failed_{};  ///< By number.
};

/// Bytes of memory that the server's process uses; 0: unknown.
uint64_t ResidentBytes();

/// CPU time that the server's process has used, in the kernel and outside of it.
struct RespCpuTimes {
  double system_s = 0;
  double user_s = 0;
};
RespCpuTimes ProcessCpuTimes();

}  // namespace rowsocket::frontend
