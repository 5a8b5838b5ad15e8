#include "engine/server/replication.h"

#include "api.h"

namespace rowsocket::engine::server {

namespace {

SourceState StateOf(const Master_info& source) {
  if (source.slave_running == MYSQL_SLAVE_NOT_RUN || source.rli.slave_running == 0) {
    return SourceState::kStopped;
  }
  return source.slave_running == MYSQL_SLAVE_RUN_READING ? SourceState::kRunning
                                                         : SourceState::kConnecting;
}

/// The lag of a source; `last_s` if another session holds the source's lock.
uint32_t LagOf(Master_info& source, uint32_t last_s) {
  Relay_log_info& relay = source.rli;
  if (mysql_mutex_trylock(&relay.data_lock) != 0) return last_s;
  const bool is_idle =
      source.using_parallel() ? relay.are_sql_threads_caught_up() : relay.sql_thread_caught_up;
  const time_t stamp = relay.last_master_timestamp;
  mysql_mutex_unlock(&relay.data_lock);
  return is_idle ? 0 : LagSince(stamp, source.clock_diff_with_master);
}

/// Reads the state of all sources. REQUIRES: the caller holds LOCK_active_mi. The index of sources
/// exists only after the server has started.
Sources ReadSources(const Sources& last) {
  if (master_info_index == nullptr) return {SourceState::kStopped, kUnknownLag};
  const HASH& hash = master_info_index->master_info_hash;
  Sources all;
  for (ulong i = 0; i < hash.records; ++i) {
    auto* source = reinterpret_cast<Master_info*>(my_hash_element(const_cast<HASH*>(&hash), i));
    if (source->host[0] == '\0') continue;
    const SourceState state = StateOf(*source);
    const bool runs = state == SourceState::kRunning;
    all.Add(state, runs ? LagOf(*source, last.lag_s) : kUnknownLag);
  }
  return all;
}

}  // namespace

std::optional<Sources> TryReadSources(const Sources& last) {
  if (mysql_mutex_trylock(&LOCK_active_mi) != 0) return std::nullopt;
  const Sources sources = ReadSources(last);
  mysql_mutex_unlock(&LOCK_active_mi);
  return sources;
}

std::string BinlogPosition() {
  StringBuffer<256> text;
  if (!mysqld_server_started || mysql_bin_log.append_state_pos(&text)) return {};
  return {text.ptr(), text.length()};
}

// A transaction is in the binary log before its changes are visible. On a primary that does no
// harm, because clients ask about acknowledged transactions, which are visible. On a replica, the
// position of its threads tells what is visible.
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

bool HasExecutedRange(const model::GtidRange&) { return false; }

}  // namespace rowsocket::engine::server
