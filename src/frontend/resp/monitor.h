// What monitoring tools ask a RESP port for: INFO, LATENCY, SLOWLOG and HOTKEYS; and what a
// connection counts for INFO.
//
// Flow: Count and CountError as commands get their answers. A connection counts for itself, and
// adds to the port's RespInfo now and then, and when it ends. The counters of errors begin anew
// with the latencies, so that both are about the same time.
// Threads: one at a time.
// Lifetime: one for each connection; what the port shares outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/command.h"
#include "frontend/resp/info.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/work.h"
#include "keyspace/keyspaces.h"
#include "model/account.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

class RespMonitor {
 public:
  explicit RespMonitor(const RespShared& shared) : shared_(shared) {}
  ~RespMonitor() { shared_.info->Add(uncounted_); }
  RespMonitor(const RespMonitor&) = delete;
  RespMonitor& operator=(const RespMonitor&) = delete;

  void Count(const RespCounts& counts) {
    uncounted_ += counts;
    if (uncounted_.commands >= kCountEvery) shared_.info->Add(std::exchange(uncounted_, {}));
  }
  /// Counts an error reply. `error`: RespErrorOf the reply; `verb`: the number of the command
  /// (RespCommandName).
  void CountError(uint8_t error, uint32_t verb, bool is_rejected) const {
    shared_.info->AddError(error, verb, is_rejected, flushes());
  }

  // Append functions for the replies to commands of the same names. `account`: the connection's;
  // null: it may do everything.
  void AppendLatency(RespArguments arguments, resp::Version version, base::Buffer& out) const;
  void AppendSlowlog(RespArguments arguments, const model::Account* account,
                     base::Buffer& out) const;
  /// `keyspaces`: the connection's; null: there are none.
  void AppendHotkeys(RespArguments arguments, const model::Account* account,
                     const keyspace::Snapshot* keyspaces, resp::Version version,
                     base::Buffer& out) const;  // hotkeys.cc

  /// The text of INFO. `sections`: its arguments; none: the usual sections. `keys`: the lines of
  /// the section keyspace.
  std::string Info(RespArguments sections, std::string_view keys = {}) const;
  /// Whether these sections of INFO include the numbers of keys, which the engine has to count.
  static bool InfoCountsKeys(RespArguments sections);
  /// Executes an INFO for which InfoCountsKeys is true, and appends its reply.
  engine::Outcome ExecuteInfo(const RespWork& work, engine::Session& session,
                              base::Buffer& out) const;

 private:
  /// How many commands a connection counts by itself before it adds them to the port's count, which
  /// all workers would otherwise write to the same cache line for.
  static constexpr uint64_t kCountEvery = 64;

  /// How often the latencies have begun anew.
  uint64_t flushes() const { return shared_.latency != nullptr ? shared_.latency->flushes() : 0; }
  void AppendLatencies(RespArguments commands, resp::Version version, base::Buffer& out) const;
  std::string InfoSection(std::string_view section, std::string_view keys) const;
  std::string CommandLines() const;
  std::string PercentileLines() const;

  const RespShared& shared_;
  RespCounts uncounted_;  ///< Counts that RespInfo does not have yet.
};

}  // namespace rowsocket::frontend
