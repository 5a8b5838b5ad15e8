// A plugin that serves a protocol: its start, its stop, and what SHOW STATUS says of the plugin.
// This is the one composition root of the library: it puts sessions, lane, ports and frontends
// together.
//
// The most important of what exists once for the process: counters that give out numbers; what
// daemon.cc shares between plugins; exec::ConnectionBook::Shared; SharedKeyspaces::Get; in
// exec/token_book.cc the longest time of tokens, the watch of the calendar, and when a purge last
// cost a transaction; the key of HiddenKey (exec/hot_rows.cc); the free blocks of base::ShownText;
// in engine/server the last state of replication, and MySQL's WaitHook and plugin handles.
//
// Flow: the server calls Init and Deinit; Init makes the descriptor's protocol, and a Running from
//       what the protocol wants.
// Threads: Init and Deinit from the server's plugin code, one after the other; all else from any.
// Errors: a start that fails is reported to the server's log and to the client that asked for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api.h"
#include "base/mutex.h"
#include "plugin/protocol.h"

namespace rowsocket::plugin {

class Daemon {
 public:
  explicit Daemon(const Descriptor& descriptor);
  ~Daemon();

  /// Starts the plugin. Returns 0, or 1 if it cannot start. If the server only installs its tables,
  /// nothing is started.
  int Init();
  int Deinit();
  void Show(StatusVariable* var);
  /// All connections; little is known about those whose workers are in a long turn.
  std::vector<exec::ConnectionInfo> Connections(bool has_addresses);
  /// The latencies of the plugin's ports; none while it does not run.
  std::vector<exec::LatencyRow> Latency();
  /// The hot rows of the last `seconds` seconds (exec::HotRows::Top).
  exec::HotRows::Rows HotRows(int64_t seconds);
  /// What the ports have done for each index and account; nothing while the plugin does not run.
  exec::Usage::Indexes UsageOfIndexes();
  exec::Usage::Accounts UsageOfAccounts();
  /// The variable that FLUSH STATUS sets to 0 (exec::LatencyRegistry).
  unsigned long* latency_since() { return &latency_since_; }

  const Descriptor& descriptor() const { return descriptor_; }

 private:
  class Running;
  /// Does the work of Init, and may throw std::bad_alloc.
  int Begin();
  void StopLater(std::unique_ptr<Running> stopping);
  /// Notes what SHOW STATUS shows. Null: the plugin does not run, and all counters are 0.
  void FillShownCounters(const Running* running) const;

  const Descriptor& descriptor_;
  unsigned long latency_since_ = 0;
  base::Mutex mutex_;  ///< SHOW STATUS may come while the plugin stops.
  std::unique_ptr<Running> running_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::plugin
