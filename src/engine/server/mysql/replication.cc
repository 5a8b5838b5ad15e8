#include "replication.h"

#include <algorithm>
#include <atomic>

#include "api.h"
#include "sql/rpl_replica.h"

namespace rowsocket::engine::server {

namespace {

enum class SourceState : uint8_t { kNone, kRunning, kConnecting, kStopped };

SourceState StateOf(const Master_info& source) {
  if (source.slave_running == MYSQL_SLAVE_NOT_RUN || source.rli->slave_running == 0) {
    return SourceState::kStopped;
  }
  return source.slave_running == MYSQL_SLAVE_RUN_CONNECT ? SourceState::kRunning
                                                         : SourceState::kConnecting;
}

// The state of the source that fares worst. STOP REPLICA may hold the lock for long: then the
// answer of the last call counts.
SourceState LookAtSources() {
  static std::atomic<SourceState> known{SourceState::kStopped};
  if (channel_map.tryrdlock() != 0) return known.load();
  SourceState state = SourceState::kNone;
  for (auto each = channel_map.begin(); each != channel_map.end(); ++each) {
    const Master_info* const source = each->second;
    if (source != nullptr && source->host[0] != '\0') state = std::max(state, StateOf(*source));
  }
  channel_map.unlock();
  known.store(state);
  return state;
}

}  // namespace

bool HasReplicationSource() { return LookAtSources() != SourceState::kNone; }

model::Health ReadHealth() {
  constexpr std::string_view kStates[] = {"running", "running", "connecting", "stopped"};
  model::Health health;
  health.version = server_version;
  health.reads = mysqld_server_started && !IsOffline();
  health.writes = health.reads && !IsReadOnly();
  const SourceState source = LookAtSources();
  if (source != SourceState::kNone) {
    health.role = model::Health::Role::kReplica;
    health.state = kStates[static_cast<size_t>(source)];
    health.lag_s = std::nullopt;
  }
  return health;
}

}  // namespace rowsocket::engine::server
