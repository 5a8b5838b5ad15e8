#include "replication.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string_view>

#include "api.h"
#include "engine/server/innodb_read_only.h"
#include "sql/rpl_gtid.h"
#include "sql/rpl_replica.h"

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
  if (source.slave_running == MYSQL_SLAVE_NOT_RUN || source.rli->slave_running == 0) {
    return SourceState::kStopped;
  }
  return source.slave_running == MYSQL_SLAVE_RUN_CONNECT ? SourceState::kRunning
                                                         : SourceState::kConnecting;
}

/// How long ago the source made the change that is executed here, as SHOW REPLICA STATUS works out
/// Seconds_Behind_Source. The answer of the last call where a lock is held.
uint32_t LagOf(Master_info& source, uint32_t last_s) {
  Relay_log_info& relay = *source.rli;
  if (mysql_mutex_trylock(&source.data_lock) != 0) return last_s;
  if (mysql_mutex_trylock(&relay.data_lock) != 0) {
    mysql_mutex_unlock(&source.data_lock);
    return last_s;
  }
  const bool is_idle = source.get_master_log_pos() == relay.get_group_master_log_pos() &&
                       strcmp(source.get_master_log_name(), relay.get_group_master_log_name()) == 0;
  const time_t stamp = relay.last_master_timestamp;
  const long difference = source.clock_diff_with_master;
  mysql_mutex_unlock(&relay.data_lock);
  mysql_mutex_unlock(&source.data_lock);
  if (stamp == 0 || is_idle) return 0;
  const int64_t lag_s = time(nullptr) - stamp - difference;
  return static_cast<uint32_t>(std::clamp<int64_t>(lag_s, 0, kUnknownLag - 1));
}

// STOP REPLICA may hold the lock for long: then the answer of the last call counts.
Sources LookAtSources() {
  static std::atomic<Sources> known{Sources{SourceState::kStopped, kUnknownLag}};
  static_assert(std::atomic<Sources>::is_always_lock_free);
  const Sources last = known.load();
  if (channel_map.tryrdlock() != 0) return last;
  Sources sources;
  for (auto each = channel_map.begin(); each != channel_map.end(); ++each) {
    Master_info* const source = each->second;
    if (source == nullptr || source->host[0] == '\0') continue;
    const SourceState state = StateOf(*source);
    sources.state = std::max(sources.state, state);
    const bool runs = state == SourceState::kRunning;
    sources.lag_s = std::max(sources.lag_s, runs ? LagOf(*source, last.lag_s) : kUnknownLag);
  }
  channel_map.unlock();
  known.store(sources);
  return sources;
}

}  // namespace

bool HasReplicationSource() { return LookAtSources().state != SourceState::kNone; }

model::Health ReadHealth() {
  constexpr std::string_view kStates[] = {"running", "running", "connecting", "stopped"};
  model::Health health;
  health.version = server_version;
  health.reads = mysqld_server_started && !IsOffline();
  health.writes = health.reads && !IsReadOnly() && !InnodbIsReadOnly();
  const Sources sources = LookAtSources();
  if (sources.state != SourceState::kNone) {
    health.role = model::Health::Role::kReplica;
    health.state = kStates[static_cast<size_t>(sources.state)];
    health.lag_s = std::nullopt;
    if (sources.lag_s != kUnknownLag) health.lag_s = sources.lag_s;
  }
  return health;
}

// SQL's @@gtid_executed takes the same lock, which commits share for moments.
std::string BinlogPosition() {
  if (!mysqld_server_started) return {};
  global_tsid_lock->wrlock();
  const Gtid_set* const executed = gtid_state->get_executed_gtids();
  std::string text(executed->get_string_length(), '\0');
  text.resize(executed->to_string(text.data()));
  global_tsid_lock->unlock();
  std::erase(text, '\n');
  return text;
}

// A transaction is in the set of the executed ones when it is visible.
bool HasExecutedRange(const model::GtidRange& range) {
  if (!mysqld_server_started) return false;
  std::string source(range.uuid);
  if (!range.tag.empty()) source.append(":").append(range.tag);
  mysql::gtid::Tsid tsid;
  if (tsid.from_cstring(source.c_str()) != source.size()) return false;
  bool has_executed = false;
  global_tsid_lock->rdlock();
  const Gtid_set* const executed = gtid_state->get_executed_gtids();
  const rpl_sidno number = global_tsid_map->tsid_to_sidno(tsid);
  if (number > 0 && number <= executed->get_max_sidno()) {
    gtid_state->lock_sidno(number);
    Gtid_set::Const_interval_iterator each(executed, number);
    for (; each.get() != nullptr && !has_executed; each.next()) {
      has_executed = static_cast<uint64_t>(each.get()->start) <= range.first &&
                     range.last < static_cast<uint64_t>(each.get()->end);
    }
    gtid_state->unlock_sidno(number);
  }
  global_tsid_lock->unlock();
  return has_executed;
}

}  // namespace rowsocket::engine::server
