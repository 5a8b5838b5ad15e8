#include "engine/server/session_thd.h"

#include <atomic>
#include <mutex>

#include "base/require.h"
#include "galera.h"

namespace rowsocket::engine::server {

namespace {

/// The place of a session's variable, which is written directly because SET would need memory.
void* PlaceOf(THD* thd, sys_var* variable) {
  return const_cast<uchar*>(variable->value_ptr(thd, OPT_SESSION, &null_clex_str));
}

void Assign(THD* thd, sys_var* variable, ulonglong value) {
  void* const place = PlaceOf(thd, variable);
  if (variable->show_type() == SHOW_ULONG) {
    *static_cast<ulong*>(place) = static_cast<ulong>(value);
    return;
  }
  ROWSOCKET_REQUIRE(variable->show_type() == SHOW_UINT);
  *static_cast<uint*>(place) = static_cast<uint>(value);
}

void EnterPerformanceSchema([[maybe_unused]] THD* thd) {
#ifdef HAVE_PSI_THREAD_INTERFACE
  static PSI_thread_key key = 0;
  static PSI_thread_info info[] = {{&key, "worker", 0}};
  static std::once_flag registered;
  std::call_once(registered, [] { mysql_thread_register("rowsocket", info, 1); });
  PSI_thread* thread = PSI_CALL_new_thread(key, thd, thd->thread_id);
  PSI_CALL_set_thread_os_id(thread);
  PSI_CALL_set_thread(thread);
  mysql_thread_set_psi_THD(thd);
#endif
}

/// Lets the THD wait for rows, or not. Returns @@global.innodb_lock_wait_timeout.
unsigned SetRowLockWait(THD* thd, bool waits) {
  sys_var* variable =
      find_sys_var(thd, STRING_WITH_LEN("innodb_lock_wait_timeout"), /*throw_error=*/false);
  if (variable == nullptr) return 0;  // The server has no InnoDB.
  bool is_null = false;
  const longlong global_s = variable->val_int(&is_null, thd, OPT_GLOBAL, &null_clex_str);
  Assign(thd, variable, waits ? static_cast<ulonglong>(global_s) : 0);
  return static_cast<unsigned>(global_s);
}

/// Before a write, a find of the turn may have made a view. With snapshot isolation, the write of a
/// row that was changed since then would lose the transaction. Writes here are for the present row,
/// as in SQL's autocommit, which has no view either.
void IgnoreSnapshotIsolation(THD* thd) {
  sys_var* variable =
      find_sys_var(thd, STRING_WITH_LEN("innodb_snapshot_isolation"), /*throw_error=*/false);
  if (variable != nullptr) *static_cast<my_bool*>(PlaceOf(thd, variable)) = false;
}

}  // namespace

void SessionThdOwn::FindFlushAtCommit(THD* thd) {
  sys_var* variable = find_sys_var(thd, STRING_WITH_LEN("innodb_flush_log_at_trx_commit"),
                                   /*throw_error=*/false);
  if (variable == nullptr) return;
  flush_at_commit_ =
      reinterpret_cast<const unsigned long*>(variable->value_ptr(thd, OPT_GLOBAL, &null_clex_str));
}

bool ServerStopping() { return abort_loop; }

THD* SessionThd::NewThd() { return new THD(next_thread_id()); }

void SessionThd::FreeThd(THD* thd) {
  delete thd;
  set_current_thd(nullptr);
}

// Two of these members are near the front of the class, and others near its end.
bool SessionThd::LayoutMatches(THD* thd) {
  return thd_get_thread_id(thd) == thd->thread_id && thd_tx_isolation(thd) == thd->tx_isolation &&
         thd_sql_command(thd) == static_cast<int>(thd->lex->sql_command) && thd_killed(thd) == 0 &&
         thd->killed == NOT_KILLED;
}

void SessionThd::Enter(THD* thd) {
  // With NON_SYSTEM_THREAD the commit would return before the redo log is flushed: only the
  // server's own socket waits for that flush, and replies of this library leave on another socket.
  thd->system_thread = SYSTEM_THREAD_GENERIC;
  thd->security_ctx->skip_grants();
  thd->security_ctx->master_access &= ~PRIV_IGNORE_READ_ONLY;
  thd->security_ctx->set_user(const_cast<char*>(user_.name));  // set_user copies the name.
  thd->security_ctx->host_or_ip = my_localhost;
  strmake_buf(thd->security_ctx->priv_user, user_.name);
  strmake_buf(thd->security_ctx->priv_host, my_localhost);
  thd->init_for_queries();
  thd->set_command(COM_SLEEP);
  lex_start(thd);
  thd->lex->sql_command = SQLCOM_SELECT;
  server_threads.insert(thd);
  EnterPerformanceSchema(thd);
  own_.FindFlushAtCommit(thd);
  SetRowLockWait(thd, timeouts_.waits_for_rows);
  IgnoreSnapshotIsolation(thd);
  JoinGalera(thd);
}

void SessionThd::Destroy() {
  THD* thd = thd_;
  if (thd == nullptr) return;
  SetThd(nullptr);
  thd->proc_info = nullptr;
  LeaveGalera(thd);
  thd->cleanup();
  thd->add_status_to_global();
  server_threads.erase(thd);
  lex_end(thd->lex);
  FreeThd(thd);
  PSI_CALL_delete_current_thread();
}

void SessionThd::FollowRowLockWait() { row_wait_s_ = SetRowLockWait(thd_, true); }

void SessionThd::RefuseRowWaits(bool refuse) { SetRowLockWait(thd_, !refuse); }

void SessionThd::SetStrict(bool strict) {
  thd_->abort_on_warning = strict;
  thd_->count_cuted_fields = strict ? CHECK_FIELD_ERROR_FOR_NULL : CHECK_FIELD_IGNORE;
}

void SessionThd::FreeStatementMemory() {
  thd_->free_items();
  free_root(thd_->mem_root, MYF(MY_KEEP_PREALLOC));
}

void SessionThd::ReleaseAuditPlugins() { mysql_audit_release(thd_); }

void SessionThd::ReleaseOldAuditPlugins() {
  if (mysql_audit_release_required(thd_)) ReleaseAuditPlugins();
}

bool SessionThd::holds_audit_plugins() const { return thd_->audit_class_plugins.elements != 0; }

// Always false: in MariaDB the engine's error says that a lock was met.
bool SessionThd::TakeBusy() { return false; }

bool SessionThd::must_end() const {
  const killed_state state = thd_->killed;
  return state == KILL_CONNECTION || state == KILL_CONNECTION_HARD || state == KILL_SYSTEM_THREAD ||
         state == KILL_SYSTEM_THREAD_HARD || state == KILL_SERVER || state == KILL_SERVER_HARD;
}

void SessionThd::ForgetKillQuery() {
  if (!must_end()) thd_->reset_killed();
}

void SessionThd::Describe(std::string_view text) {
  std::atomic_ref(thd_->proc_info).store(description_.Set(text), std::memory_order_release);
}

}  // namespace rowsocket::engine::server
