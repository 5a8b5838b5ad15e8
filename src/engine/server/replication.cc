#include "engine/server/replication.h"

#include <algorithm>
#include <atomic>
#include <ctime>

#include "api.h"
#include "engine/server/cluster_node.h"
#include "engine/server/innodb_read_only.h"

namespace rowsocket::engine::server {

namespace {

Sources LookAtSources() {
  static std::atomic<Sources> known{Sources{SourceState::kStopped, kUnknownLag}};
  static_assert(std::atomic<Sources>::is_always_lock_free);
  const Sources last = known.load();
  const std::optional<Sources> sources = TryReadSources(last);
  if (!sources) return last;
  known.store(*sources);
  return *sources;
}

}  // namespace

uint32_t LagSince(int64_t stamp, int64_t difference) {
  if (stamp == 0) return 0;
  const int64_t lag_s = time(nullptr) - stamp - difference;
  return static_cast<uint32_t>(std::clamp<int64_t>(lag_s, 0, kUnknownLag - 1));
}

bool HasReplicationSource() { return LookAtSources().state != SourceState::kNone; }

model::Health ReadHealth() {
  constexpr std::string_view kStates[] = {"running", "running", "connecting", "stopped"};
  static_assert(std::size(kStates) == static_cast<size_t>(SourceState::kStopped) + 1);
  model::Health health;
  health.version = server_version;
  health.reads = mysqld_server_started && !IsOffline();
  health.writes = health.reads && !BecomesReadOnly() && !IsReadOnly() && !InnodbIsReadOnly();
  const Sources sources = LookAtSources();
  if (sources.state != SourceState::kNone) {
    health.role = model::Health::Role::kReplica;
    health.state = kStates[static_cast<size_t>(sources.state)];
    health.lag_s = std::nullopt;
    if (sources.lag_s != kUnknownLag) health.lag_s = sources.lag_s;
  }
  AddClusterNode(&health);
  return health;
}

}  // namespace rowsocket::engine::server
