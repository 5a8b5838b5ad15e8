#include "replication.h"

#include <algorithm>
#include <atomic>

#include "api.h"
#include "sql/rpl_gtid.h"
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
