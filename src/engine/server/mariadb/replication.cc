#include "replication.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "engine/server/innodb_read_only.h"
#include "galera_api.h"

namespace rowsocket::engine::server {

namespace {

enum class SourceState : uint32_t { kNone, kRunning, kConnecting, kStopped };

constexpr uint32_t kUnknownLag = std::numeric_limits<uint32_t>::max();

/// All sources together: the state of the one that fares worst, and the longest lag.
struct Sources {
  SourceState state = SourceState::kNone;
  uint32_t lag_s = 0;
};

SourceState StateOf(const Master_info& source) {
  if (source.slave_running == MYSQL_SLAVE_NOT_RUN || source.rli.slave_running == 0) {
    return SourceState::kStopped;
  }
  return source.slave_running == MYSQL_SLAVE_RUN_READING ? SourceState::kRunning
                                                         : SourceState::kConnecting;
}

/// How long ago the source made the change that is executed here, as SHOW SLAVE STATUS works out
/// Seconds_Behind_Master. The answer of the last call where the lock is held.
uint32_t LagOf(Master_info& source, uint32_t last_s) {
  Relay_log_info& relay = source.rli;
  if (mysql_mutex_trylock(&relay.data_lock) != 0) return last_s;
  const bool is_idle =
      source.using_parallel() ? relay.are_sql_threads_caught_up() : relay.sql_thread_caught_up;
  const time_t stamp = relay.last_master_timestamp;
  mysql_mutex_unlock(&relay.data_lock);
  if (stamp == 0 || is_idle) return 0;
  const int64_t lag_s = time(nullptr) - stamp - source.clock_diff_with_master;
  return static_cast<uint32_t>(std::clamp<int64_t>(lag_s, 0, kUnknownLag - 1));
}

/// REQUIRES: LOCK_active_mi. The index of sources exists only when the server has started.
Sources ReadSources(const Sources& last) {
  if (master_info_index == nullptr) return {SourceState::kStopped, kUnknownLag};
  const HASH& hash = master_info_index->master_info_hash;
  Sources all;
  for (ulong i = 0; i < hash.records; ++i) {
    auto* source = reinterpret_cast<Master_info*>(my_hash_element(const_cast<HASH*>(&hash), i));
    if (source->host[0] == '\0') continue;
    const SourceState state = StateOf(*source);
    all.state = std::max(all.state, state);
    const bool runs = state == SourceState::kRunning;
    all.lag_s = std::max(all.lag_s, runs ? LagOf(*source, last.lag_s) : kUnknownLag);
  }
  return all;
}

// STOP ALL SLAVES may hold the mutex for long: then the answer of the last call counts.
Sources LookAtSources() {
  static std::atomic<Sources> known{Sources{SourceState::kStopped, kUnknownLag}};
  static_assert(std::atomic<Sources>::is_always_lock_free);
  const Sources last = known.load();
  if (mysql_mutex_trylock(&LOCK_active_mi) != 0) return last;
  const Sources sources = ReadSources(last);
  mysql_mutex_unlock(&LOCK_active_mi);
  known.store(sources);
  return sources;
}

#ifdef WITH_WSREP
std::string_view StateInCluster() {
  switch (Wsrep_server_state::instance().state()) {
    case wsrep::server_state::s_disconnected:
      return "disconnected";
    case wsrep::server_state::s_initializing:
    case wsrep::server_state::s_initialized:
      return "initializing";
    case wsrep::server_state::s_connected:
      return "connected";
    case wsrep::server_state::s_joiner:
      return "joiner";
    case wsrep::server_state::s_joined:
      return "joined";
    case wsrep::server_state::s_donor:
      return "donor";
    case wsrep::server_state::s_synced:
      return "synced";
    case wsrep::server_state::s_disconnecting:
      return "disconnecting";
  }
  return "unknown";
}

// With wsrep_on=OFF a node takes finds whatever its state, and no writes (Cluster::Begin).
void ReadHealthOfNode(model::Health* health) {
  if (!WSREP_PROVIDER_EXISTS_ || !IsProviderLoaded()) return;
  const system_variables& global = global_system_variables;
  const bool is_ready = wsrep_ready_get() && wsrep_reject_queries == WSREP_REJECT_NONE;
  health->role = model::Health::Role::kGalera;
  health->state = StateInCluster();
  health->reads = health->reads && (is_ready || global.wsrep_dirty_reads || !global.wsrep_on);
  health->writes = health->writes && is_ready && global.wsrep_on;
}
#endif

}  // namespace

bool HasReplicationSource() { return LookAtSources().state != SourceState::kNone; }

model::Health ReadHealth() {
  constexpr std::string_view kStates[] = {"running", "running", "connecting", "stopped"};
  model::Health health;
  health.version = server_version;
  health.reads = mysqld_server_started;
  // While SET GLOBAL read_only = 1 waits for commits under way only the first of the two is set.
  health.writes = health.reads && !read_only && !opt_readonly && !InnodbIsReadOnly();
  const Sources sources = LookAtSources();
  if (sources.state != SourceState::kNone) {
    health.role = model::Health::Role::kReplica;
    health.state = kStates[static_cast<size_t>(sources.state)];
    health.lag_s = std::nullopt;
    if (sources.lag_s != kUnknownLag) health.lag_s = sources.lag_s;
  }
#ifdef WITH_WSREP
  ReadHealthOfNode(&health);
#endif
  return health;
}

std::string BinlogPosition() {
  StringBuffer<256> text;
  if (!mysqld_server_started || mysql_bin_log.append_state_pos(&text)) return {};
  return {text.ptr(), text.length()};
}

// The binary log has a transaction before its changes are visible. Clients of a primary ask about
// transactions that were acknowledged, which are visible; on a replica only the position of its
// threads tells that.
bool HasExecuted(const model::Gtid& gtid) {
  if (!mysqld_server_started) return false;
  rpl_gtid last;
  if (rpl_global_gtid_slave_state->domain_to_gtid(gtid.domain, &last) &&
      last.seq_no >= gtid.number) {
    return true;
  }
  return !HasReplicationSource() &&
         mysql_bin_log.lookup_domain_in_binlog_state(gtid.domain, &last) &&
         last.seq_no >= gtid.number;
}

}  // namespace rowsocket::engine::server
