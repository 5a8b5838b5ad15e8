// The state that all workers of one port share, and the state that the parts of one worker share.
//
// Threads: a WorkerContext does not change, and all workers use what it points to. A WorkerCore is
// its worker's; other threads only wake its loop, and read its load and its counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/session.h"
#include "exec/commit_board.h"
#include "exec/frontend.h"
#include "exec/handshake_thread.h"
#include "exec/hot_rows.h"
#include "exec/item_runs.h"
#include "exec/latency.h"
#include "exec/port_settings.h"
#include "exec/slow_log.h"
#include "exec/stats.h"
#include "exec/turn.h"
#include "exec/usage.h"
#include "exec/wait_lane.h"
#include "exec/worker_pool.h"
#include "net/buffer_budget.h"
#include "net/event_loop.h"
#include "net/listener.h"
#include "net/unique_fd.h"

namespace rowsocket::exec {

/// What the port gives to each of its workers.
struct WorkerContext {
  const PortSettings* settings = nullptr;
  engine::SessionFactory* sessions = nullptr;
  StatRegistry* stats = nullptr;
  WaitLane* lane = nullptr;
  CommitBoard* commits = nullptr;  ///< Shared with all other ports.
  std::function<std::unique_ptr<Frontend>()> make_frontend;
  std::vector<net::Listener>* listeners = nullptr;
  WorkerPool* worker_pool = nullptr;
  HandshakeThread* handshake_thread = nullptr;  ///< Null if the port does not offer TLS.
  /// Gives a new connection to the worker that has the fewest; false when as many connections are
  /// open as may be. REQUIRES: called by a worker that has a session.
  std::function<bool(net::UniqueFd)> assign;
  std::function<void(const std::string&)> log;
  net::BufferBudget* budget = nullptr;
};

/// When things happen on a worker: the clocks are read once a round, and once a turn.
struct RoundClock {
  int64_t now_ms = 0;     ///< When this round began, or its turn ended.
  int64_t worked_ms = 0;  ///< When a turn last executed something.
  int64_t round_ns = 0;   ///< When this round began, by base::NowNs.

  void BeginRound() {
    now_ms = base::CoarseNowMs();
    round_ns = base::NowNs();
  }
  void HasWorked() { worked_ms = now_ms = base::CoarseNowMs(); }
};

/// State that the parts of one worker share; a member of the worker.
struct WorkerCore {
  explicit WorkerCore(const WorkerContext& shared)
      : context(shared),
        settings(*context.settings),
        stats(*context.stats),
        latency(settings.latency, settings.mode),
        hot_rows(settings.hot_rows),
        usage(settings.usage, settings.mode) {}

  const WorkerContext context;
  const PortSettings& settings;  ///< The port's, for all of its workers.
  net::EventLoop loop;
  WorkerLoad load;
  RoundClock clock;
  StatBlock stats;
  LatencyBlock latency;
  HotRowSampler hot_rows;
  UsageBlock usage;
  /// Whether a frontend has asked (kRefresh) for what its port's frontends share to be brought up
  /// to date.
  bool must_refresh = false;

  /// Counts what a turn has executed: how much, by row, by table and account, and for the log of
  /// slow requests. Call it before the input of the turn's clients is consumed and their next
  /// requests are parsed: the keys, values and indexes that are counted are gone afterwards
  /// (invariant I2). `answered_ns`: when the turn's answers were there. `session` null: the worker
  /// ends, and nothing is logged.
  void NoteTurn(const Turn& turn, int64_t answered_ns, engine::Session* session) {
    const std::vector<TurnItem>& items = turn.items();
    runs_.Take(turn);
    load.CountRequests(runs_.finished());
    hot_rows.AddTurn(turn, items);
    usage.AddTurn(runs_, answered_ns);
    if (session != nullptr && settings.slow_log != nullptr)
      settings.slow_log->NoteTurn(runs_, items, answered_ns, session->slow_us(), stats, &slow_);
  }
  /// Counts how long the requests of the turn that was noted last have taken. Call when the turn's
  /// replies have been sent, except those that are held.
  void NoteSent(const TurnTimes& times, engine::Session* session) {
    latency.AddTurn(runs_, times, base::NowNs());
    WriteSlow(session);
  }
  /// Notes a request that the lane has executed; WriteSlow writes it if it was slow.
  void NoteWaited(const Item& item, const TurnClient& client, const SlowLog::Waited& waited,
                  const engine::Session& session) {
    if (settings.slow_log != nullptr)
      settings.slow_log->NoteWaited(item, client, waited, session.slow_us(), stats, &slow_);
  }
  /// Notes the requests whose held replies were sent at `sent_ns`, if the wait has made them slow.
  void NoteHeld(const TurnClient& client, int64_t sent_ns, engine::Session* session) {
    if (session != nullptr && settings.slow_log != nullptr)
      settings.slow_log->NoteHeld(client, sent_ns, session->slow_us(), stats, &slow_);
  }
  /// Writes the slow requests of the turns that were noted. Call when their replies have been sent.
  void WriteSlow(engine::Session* session) {
    if (!slow_.empty() && session != nullptr) [[unlikely]]
      settings.slow_log->Write(&slow_, *session);
  }

 private:
  ItemRuns runs_;                     ///< The runs of the turn that was noted last.
  std::vector<SlowLog::Noted> slow_;  ///< Slow requests that were noted, and not written yet.
};

}  // namespace rowsocket::exec
