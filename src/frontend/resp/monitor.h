// What monitors ask a RESP port for: INFO, LATENCY, SLOWLOG and HOTKEYS; and what a connection
// counts for INFO.
//
// Flow: Count and CountError as commands get their answers. A connection counts for itself, and
// adds to the port's RespInfo now and then, and when it ends. What counts errors begins anew where
// the latencies have, so that both show the same time.
// Threads: one at a time. Lifetime: one for each connection; the settings outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/command.h"
#include "frontend/resp/info.h"
#include "frontend/resp/settings.h"
#include "frontend/resp/work.h"
#include "keyspace/keyspaces.h"
#include "model/account.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

class RespMonitor {
 public:
  explicit RespMonitor(const RespSettings& settings) : settings_(settings) {}
  ~RespMonitor() { settings_.info->Add(uncounted_); }
  RespMonitor(const RespMonitor&) = delete;
  RespMonitor& operator=(const RespMonitor&) = delete;

  void Count(const RespCounts& counts) {
    uncounted_ += counts;
    if (uncounted_.commands >= kCountEvery) settings_.info->Add(std::exchange(uncounted_, {}));
  }
  /// `error`: as RespErrorOf says; `verb`: the number of the command (RespCommandName).
  void CountError(uint8_t error, uint32_t verb, bool is_rejected) const {
    settings_.info->AddError(error, verb, is_rejected, flushes());
  }

  // These append the reply to a command.
  void AppendLatency(RespArguments arguments, resp::Version version, base::Buffer& out) const;
  void AppendSlowlog(RespArguments arguments, base::Buffer& out) const;
  /// `account`: the connection's; null: it may do everything. `keyspaces`: what keys mean to the
  /// connection; null: there are none.
  void AppendHotkeys(RespArguments arguments, const model::Account* account,
                     const keyspace::Snapshot* keyspaces, resp::Version version,
                     base::Buffer& out) const;  // hotkeys.cc

  /// The text of INFO. `sections`: the words behind it; none: the usual ones. `keys`: the lines of
  /// the keyspace.
  std::string Info(RespArguments sections, std::string_view keys = {}) const;
  /// Whether INFO of these sections says how many keys there are, which the engine has to count.
  static bool InfoCountsKeys(RespArguments sections);
  /// Executes such an INFO, whose call counts the keys, and appends its reply.
  engine::Outcome ExecuteInfo(const RespWork& work, engine::Session& session,
                              base::Buffer& out) const;

 private:
  /// The port's count of commands is on one cache line, to which a connection adds now and then.
  static constexpr uint64_t kCountEvery = 64;

  /// How often the latencies have begun anew.
  uint64_t flushes() const {
    return settings_.latency != nullptr ? settings_.latency->flushes() : 0;
  }
  void AppendLatencies(RespArguments commands, resp::Version version, base::Buffer& out) const;
  std::string InfoSection(std::string_view section, std::string_view keys) const;
  std::string CommandLines() const;
  std::string PercentileLines() const;

  const RespSettings& settings_;
  RespCounts uncounted_;  ///< What RespInfo does not have yet.
};

}  // namespace rowsocket::frontend
