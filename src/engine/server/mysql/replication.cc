#include "engine/server/replication.h"

#include <cstring>
#include <string_view>

#include "api.h"
#include "sql/rpl_gtid.h"
#include "sql/rpl_replica.h"

namespace rowsocket::engine::server {

namespace {

SourceState StateOf(const Master_info& source) {
  if (source.slave_running == MYSQL_SLAVE_NOT_RUN || source.rli->slave_running == 0) {
    return SourceState::kStopped;
  }
  return source.slave_running == MYSQL_SLAVE_RUN_CONNECT ? SourceState::kRunning
                                                         : SourceState::kConnecting;
}

/// The lag of a source; `last_s` if another session holds a lock of the source.
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
  return is_idle ? 0 : LagSince(stamp, difference);
}

}  // namespace

std::optional<Sources> TryReadSources(const Sources& last) {
  if (channel_map.tryrdlock() != 0) return std::nullopt;
  Sources all;
  for (auto each = channel_map.begin(); each != channel_map.end(); ++each) {
    Master_info* const source = each->second;
    if (source == nullptr || source->host[0] == '\0') continue;
    const SourceState state = StateOf(*source);
    const bool runs = state == SourceState::kRunning;
    all.Add(state, runs ? LagOf(*source, last.lag_s) : kUnknownLag);
  }
  channel_map.unlock();
  return all;
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

bool HasExecuted(const model::Gtid&) { return false; }

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
