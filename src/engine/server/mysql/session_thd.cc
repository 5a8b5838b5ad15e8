#include "engine/server/session_thd.h"

#include <atomic>
#include <mutex>

#include "sql/protocol_classic.h"
#include "wait_hook.h"

namespace rowsocket::engine::server {

namespace {

void BecomeUser(THD* thd, const char* user) {
  Security_context* const context = thd->security_context();
  context->assign_user(user, strlen(user));
  context->assign_host(my_localhost, strlen(my_localhost));
  context->set_host_or_ip_ptr(my_localhost, strlen(my_localhost));
  context->assign_priv_user(user, strlen(user));
  context->assign_priv_host(my_localhost, strlen(my_localhost));
  context->set_master_access(~Access_bitmask{0} & ~Access_bitmask{SUPER_ACL});
}

void EnterPerformanceSchema(THD* thd) {
  static PSI_thread_key key = 0;
  static PSI_thread_info info[] = {{&key, "worker", "rowsocket", 0, 0, PSI_DOCUMENT_ME}};
  static std::once_flag registered;
  std::call_once(registered, [] { mysql_thread_register("rowsocket", info, 1); });
  PSI_thread* const psi = PSI_THREAD_CALL(new_thread)(key, 0, thd, thd->thread_id());
  PSI_THREAD_CALL(set_thread_os_id)(psi);
  PSI_THREAD_CALL(set_thread)(psi);
  PSI_THREAD_CALL(set_thread_THD)(psi, thd);
  thd->set_psi(psi);
}

}  // namespace

bool ServerStopping() { return connection_events_loop_aborted(); }

THD* SessionThd::NewThd() {
  THD* const thd = new THD(/*enable_plugins=*/true);
  thd->set_new_thread_id();
  return thd;
}

void SessionThd::FreeThd(THD* thd) {
  thd->release_resources();
  delete thd;
}

bool SessionThd::LayoutMatches(THD* thd) {
  thd->durability_property = HA_IGNORE_DURABILITY;
  thd->tx_isolation = ISO_SERIALIZABLE;
  const bool matches = thd_get_thread_id(thd) == thd->thread_id() &&
                       thd_tx_isolation(thd) == ISO_SERIALIZABLE &&
                       thd_get_durability_property(thd) == HA_IGNORE_DURABILITY &&
                       thd_sql_command(thd) == static_cast<int>(thd->lex->sql_command) &&
                       thd_killed(thd) == 0 && thd->killed == THD::NOT_KILLED;
  thd->durability_property = HA_REGULAR_DURABILITY;
  return matches;
}

void SessionThd::Enter(THD* thd) {
  // While a THD sends or receives, the process list says so instead of its state. The server sets
  // this byte together with the THD's connection, which this THD lacks.
  thd->get_protocol_classic()->get_net()->reading_or_writing = 0;
  thd->store_cached_properties(THD::cached_properties::RW_STATUS);
  // The process list shows a thread without a socket only if it is a thread of the server itself.
  thd->system_thread = SYSTEM_THREAD_BACKGROUND;
  BecomeUser(thd, user_.name);
  EnterPerformanceSchema(thd);
  // Tables stay open between turns: in a circle of waits this session, and not the statement that
  // waits for the tables, has to give way.
  thd->mdl_context.set_force_dml_deadlock_weight(true);
  thd->set_command(COM_QUERY);  // KILL does not find a thread that is a daemon.
  thd->set_time();
  Global_THD_manager::get_instance()->add_thd(thd);
  MEM_ROOT* const of_statements = thd->mem_root;
  thd->mem_root = &own_.lex_memory;
  lex_start(thd);
  thd->mem_root = of_statements;
  thd->lex->sql_command = SQLCOM_SELECT;
  WaitHook::Renew();
  if (!timeouts_.waits_for_rows) WaitHook::RefuseWaits(thd);
}

void SessionThd::Destroy() {
  THD* const thd = thd_;
  if (thd == nullptr) return;
  SetStrict(false);
  WaitHook::AllowWaits();
  SetThd(nullptr);
  thd->set_proc_info(nullptr);
  PSI_thread* const psi = thd->get_psi();
  thd->release_resources();
  PSI_THREAD_CALL(delete_thread)(psi);
  thd->set_psi(nullptr);
  Global_THD_manager::get_instance()->remove_thd(thd);
  delete thd;
  own_.lex_memory.Clear();
}

void SessionThd::FollowRowLockWait() {
  constexpr const char* kName = "innodb_lock_wait_timeout";
  const auto place_of = [](const uchar* place) { return place; };
  const uchar* const global = LookAtVariable(thd_, kName, OPT_GLOBAL, place_of);
  const uchar* const mine = LookAtVariable(thd_, kName, OPT_SESSION, place_of);
  if (global == nullptr || mine == nullptr) return;
  const ulong wait_s = *reinterpret_cast<const ulong*>(global);
  *reinterpret_cast<ulong*>(const_cast<uchar*>(mine)) = wait_s;
  row_wait_s_ = static_cast<unsigned>(wait_s);
}

void SessionThd::RefuseRowWaits(bool refuse) {
  if (refuse)
    WaitHook::RefuseWaits(thd_);
  else
    WaitHook::AllowWaits();
}

void SessionThd::SetStrict(bool strict) {
  thd_->check_for_truncated_fields = strict ? CHECK_FIELD_ERROR_FOR_NULL : CHECK_FIELD_IGNORE;
  if (strict == own_.is_strict) return;
  own_.is_strict = strict;
  if (strict)
    thd_->push_internal_handler(&own_.strictness);
  else
    thd_->pop_internal_handler();
}

void SessionThd::FreeStatementMemory() {
  thd_->cleanup_after_query();
  thd_->mem_root->ClearForReuse();
}

// Nothing to release: the server locks the audit plugins of an event only for that event.
void SessionThd::ReleaseAuditPlugins() {}
void SessionThd::ReleaseOldAuditPlugins() {}
bool SessionThd::holds_audit_plugins() const { return false; }

bool SessionThd::TakeBusy() {
  if (!WaitHook::TakeMetLock()) return false;
  ForgetKillQuery();
  return true;
}

bool SessionThd::must_end() const { return thd_->killed == THD::KILL_CONNECTION; }

void SessionThd::ForgetKillQuery() {
  for (THD::killed_state state : {THD::KILL_QUERY, THD::KILL_TIMEOUT}) {
    thd_->killed.compare_exchange_strong(state, THD::NOT_KILLED);
  }
}

void SessionThd::Describe(std::string_view text) {
  own_.shown = description_.Set(text);
  thd_->set_proc_info(own_.shown);
}

}  // namespace rowsocket::engine::server
