#include "engine/server/cluster.h"

#include "engine/server/cluster_node.h"
#include "engine/server/session_thd.h"
#include "engine/server/tables.h"
#include "galera.h"
#include "galera_api.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

/// The lock under which the provider's threads change the state of a transaction.
class DataLock {
 public:
  explicit DataLock(THD* thd) : thd_(thd) { mysql_mutex_lock(&thd_->LOCK_thd_data); }
  ~DataLock() { mysql_mutex_unlock(&thd_->LOCK_thd_data); }
  DataLock(const DataLock&) = delete;
  DataLock& operator=(const DataLock&) = delete;

 private:
  THD* const thd_;
};

/// Whether an open table of the THD has no primary key: the server then refuses writes, even to
/// other tables.
bool HasTableWithoutKey(const THD& thd) {
  for (const TABLE* table = thd.open_tables; table != nullptr; table = table->next) {
    if (table->s->primary_key == MAX_KEY) return true;
  }
  return false;
}

bool IsReady() { return wsrep_ready_get() && wsrep_reject_queries == WSREP_REJECT_NONE; }

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
      // SET GLOBAL wsrep_desync changes the provider's state alone, which SQL shows as
      // Donor/Desynced.
      return wsrep_desync ? "donor" : "synced";
    case wsrep::server_state::s_disconnecting:
      return "disconnecting";
  }
  return "unknown";
}

}  // namespace

bool IsClusterNode() { return WSREP_PROVIDER_EXISTS_ && global_system_variables.wsrep_on; }

// wsrep_local_index is 0 on the first of the nodes that see each other; a node without a majority
// is not ready, and its index means nothing.
NoHousekeeping WhyNoHousekeepingInCluster() {
  if (!IsClusterNode()) return {};
  if (!wsrep_ready_get())
    return {"this node of the Galera cluster is not ready (wsrep_ready)", /*may_pass=*/true};
  if (wsrep_local_index == 0) return {};
  return {"another node of the Galera cluster does it, the first one (wsrep_local_index)"};
}

bool HoldsClusterOrder() {
  THD* thd = _current_thd();
  if (thd == nullptr || !WSREP_PROVIDER_EXISTS_) return false;
  const auto mode = thd->wsrep_cs().mode();
  return mode == wsrep::client_state::m_toi || mode == wsrep::client_state::m_rsu;
}

// With wsrep_on=OFF a node takes finds in any state, and no writes (Cluster::Begin).
void AddClusterNode(model::Health* health) {
  if (!WSREP_PROVIDER_EXISTS_ || !IsProviderLoaded()) return;
  const system_variables& global = global_system_variables;
  const bool is_ready = IsReady();
  health->role = model::Health::Role::kGalera;
  health->state = StateInCluster();
  health->reads = health->reads && (is_ready || global.wsrep_dirty_reads || !global.wsrep_on);
  health->writes = health->writes && is_ready && global.wsrep_on;
}

// Switches off streaming replication, by which other nodes would see fragments of a turn before the
// turn has ended.
void JoinGalera(THD* thd) {
  thd->variables.wsrep_on = global_system_variables.wsrep_on;
  thd->variables.wsrep_trx_fragment_size = 0;
  wsrep_open(thd);
  // From here on the thread owns its THD, between turns as well. Otherwise the provider's
  // rollbacker would take over a THD without a command under way, whenever DDL of another node
  // meets the metadata lock of a table that stays open.
  wsrep_wait_rollback_complete_and_acquire_ownership(thd);
}

void LeaveGalera(THD* thd) {
  wsrep_after_command_before_result(thd);
  wsrep_after_command_after_result(thd);
  wsrep_close(thd);
  wsrep_cleanup(thd);
}

bool Cluster::Replicates(const TABLE& table) {
  return (table.file->partition_ht()->flags & HTON_WSREP_REPLICATION) != 0;
}

// Always false: in Galera, LossOf and EndTurn tell of a refusal.
bool Cluster::HasRefused(THD*) { return false; }
bool Cluster::MayStandElsewhere(THD*) { return false; }

// Waits once a turn, by the provider's own call, because the server's function waits only for
// threads of its clients. The tables are closed first, because the wait may be for DDL that waits
// for one of them, and nothing ends such a wait before its timeout.
bool Cluster::WaitForCluster(bool writes) {
  constexpr uint kBeforeWrites =
      WSREP_SYNC_WAIT_BEFORE_UPDATE_DELETE | WSREP_SYNC_WAIT_BEFORE_INSERT_REPLACE;
  const uint wanted = WSREP_SYNC_WAIT_BEFORE_READ | (writes ? kBeforeWrites : 0);
  if ((global_system_variables.wsrep_sync_wait & wanted) == 0) return true;
  THD* thd = thd_.get();
  tables_.CloseAll();
  if (thd->wsrep_cs().sync_wait(-1) == 0) return true;
  thd->wsrep_cs().reset_error();
  return false;
}

void Cluster::Begin(bool writes) {
  is_active_ = false;
  refused_find_ = refused_write_ = Outcome();
  if (!WSREP_PROVIDER_EXISTS_) [[likely]]
    return;
  THD* thd = thd_.get();
  thd->variables.wsrep_on = global_system_variables.wsrep_on;
  if (!WSREP_ON_) {
    // A server that was started with wsrep_on=OFF has the provider's name and no provider.
    if (IsProviderLoaded()) refused_write_ = Outcome::Fail(ErrorCode::kGalera);
    return;
  }
  if (thd->wsrep_cs().state() == wsrep::client_state::s_none) JoinGalera(thd);
  is_active_ = true;
  if (wsrep_before_command(thd) != 0) tables_.CloseAll();
  thd->wsrep_cs().reset_error();
  if (!IsReady()) {
    refused_write_ = Outcome::Fail(ErrorCode::kNotReady);
    if (!global_system_variables.wsrep_dirty_reads) refused_find_ = refused_write_;
    return;
  }
  if (!WaitForCluster(writes)) {
    refused_find_ = refused_write_ = Outcome::Fail(ErrorCode::kLockWait);
    return;
  }
  if (writes && !wsrep_certify_nonPK && HasTableWithoutKey(*thd)) tables_.CloseAll();
  thd->set_query_id(next_query_id());
  thd->wsrep_affected_rows = 0;
  // A turn that only finds has a transaction in the provider as well: DDL of another node that
  // meets its metadata locks would otherwise end its statement as KILL QUERY does.
  wsrep_start_transaction(thd, thd->wsrep_next_trx_id());
  // DDL that came to wait for a table before this transaction began found none to abort, and does
  // not look again. A writeset of this turn would be ordered after that DDL, and wait for it with
  // the table open. DDL that comes from here on aborts the transaction.
  if (tables_.OthersWaitForTables()) tables_.CloseAll();
  thd->reset_kill_query();
}

bool CollectsRowEvents(THD* thd) { return WSREP_EMULATE_BINLOG(thd); }

// Without a binary log the server notes such a place only for SAVEPOINT. The rollback of a
// statement would then remove only the pending event, and the other nodes would get the events
// before it.
void Cluster::MarkBegin(THD* thd) {
  if (!CollectsRowEvents(thd)) return;
  thd->binlog_set_stmt_begin();
  wsrep_register_binlog_handler(thd, /*trx=*/false);
}

bool AppendChildren(THD* thd, const OpenTable& open) {
  if (open.tables.size() == 1 || !WSREP(thd) || !wsrep_is_active(thd)) return true;
  for (const TABLE* child : open.tables) {
    if (child == open.table) continue;
    wsrep::key key(wsrep::key::shared);
    key.append_key_part(child->s->db.str, child->s->db.length);
    key.append_key_part(child->s->table_name.str, child->s->table_name.length);
    if (thd->wsrep_cs().append_key(key)) return false;
  }
  return true;
}

// Beyond wsrep_max_ws_rows the server rolls the transaction back within the call that writes a row:
// rows that are written after that would stay on this node alone.
Cluster::LostBy Cluster::LossOf(bool has_changed_rows) const {
  if (!is_active_ || !refused_write_.ok()) return LostBy::kNone;
  THD* thd = thd_.get();
  const DataLock lock(thd);
  const wsrep::transaction& transaction = thd->wsrep_trx();
  if (transaction.bf_aborted()) return LostBy::kConflict;
  if (!transaction.active()) return has_changed_rows ? LostBy::kTooLarge : LostBy::kNone;
  switch (transaction.state()) {
    case wsrep::transaction::s_must_abort:
      return LostBy::kConflict;
    case wsrep::transaction::s_aborting:
    case wsrep::transaction::s_aborted:
      return LostBy::kTooLarge;
    default:
      return LostBy::kNone;
  }
}

// If the turn is too large for a writeset, its requests may well succeed in transactions of their
// own.
void Cluster::TellLoss(LostBy loss, Outcome* outcome) const {
  outcome->transaction_lost = true;
  if (loss == LostBy::kTooLarge) {
    outcome->result = Outcome::Result::kMustSplit;
    outcome->error = model::Error::Engine(ER_TRANS_CACHE_FULL);
  } else {
    outcome->result = Outcome::Result::kConflict;
    outcome->error = {ErrorCode::kDeadlock};
  }
  thd_.ClearStatement();
}

bool Cluster::MustCloseTables() const {
  THD* thd = thd_.get();
  const DataLock lock(thd);
  const wsrep::transaction& transaction = thd->wsrep_trx();
  return transaction.state() == wsrep::transaction::s_must_replay || transaction.bf_aborted() ||
         (transaction.ordered() && transaction.state() != wsrep::transaction::s_committed);
}

Cluster::TurnEnd Cluster::EndTurn() {
  THD* thd = thd_.get();
  wsrep::client_state& client = thd->wsrep_cs();
  bool replays, was_aborted;
  {
    const DataLock lock(thd);
    replays = thd->wsrep_trx().state() == wsrep::transaction::s_must_replay;
    was_aborted = replays || thd->wsrep_trx().bf_aborted();
  }
  if (wsrep_is_active(thd)) wsrep_after_statement(thd);
  const auto error = client.current_error();
  // reset_error leaves the status as it was: without an error it is an earlier turn's.
  const auto status =
      error == wsrep::e_success ? wsrep::provider::success : client.current_error_status();
  const bool is_committed = thd->wsrep_trx().state() == wsrep::transaction::s_committed;
  client.reset_error();
  if (was_aborted) thd->reset_kill_query();
  if (error == wsrep::e_error_during_commit && status == wsrep::provider::error_connection_failed) {
    return TurnEnd::kUnknown;
  }
  if (replays) {
    return error == wsrep::e_success && is_committed ? TurnEnd::kReplayed : TurnEnd::kConflict;
  }
  // A KILL before the commit gave the writeset to the provider has cost only the transaction.
  if (error == wsrep::e_deadlock_error || error == wsrep::e_interrupted_error || was_aborted) {
    return TurnEnd::kConflict;
  }
  if (error == wsrep::e_size_exceeded_error || status == wsrep::provider::error_size_exceeded) {
    return TurnEnd::kTooLarge;
  }
  return TurnEnd::kAsServerSays;
}

}  // namespace rowsocket::engine::server
