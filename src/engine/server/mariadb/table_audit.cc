#include "engine/server/table_audit.h"

#include <algorithm>
#include <string>

#include "api.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

namespace {

/// Makes a THD that no process list shows, and that becomes the thread's current one.
THD* MakeThd() {
  THD* thd = new THD(next_thread_id());
  thd->thread_stack = reinterpret_cast<char*>(&thd);
  thd->store_globals();
  thd->init_for_queries();
  return thd;
}

void EndThd(THD* thd) {
  thd->store_globals();
  mysql_audit_release(thd);
  thd->add_status_to_global();
  thd->cleanup();
  delete thd;
}

MYSQL_CONST_LEX_STRING Lex(const std::string& text) { return {text.c_str(), text.size()}; }

}  // namespace

const bool kHasTableAudit = true;

bool TableAudit::IsWanted() { return mysql_audit_table_enabled(); }

THD* TableAudit::ThdOf(THD* session, uint64_t account_id) {
  const auto found = std::find_if(owners_.begin(), owners_.end(), [account_id](const Owner& owner) {
    return owner.account_id == account_id;
  });
  if (found != owners_.end()) return found->thd;
  if (owners_.size() == model::kAuditThdsMax) Close();
  owners_.reserve(owners_.size() + 1);  // If memory runs out here, the thread's THD is still the
                                        // current one.
  owners_.push_back({account_id, MakeThd()});
  session->store_globals();
  return owners_.back().thd;
}

void TableAudit::Tell(THD* session, const TableAccess& access) {
  THD* const thd = ThdOf(session, access.account_id);
  const Security_context* const own = session->security_ctx;
  const std::string user(access.user.empty() ? std::string_view(own->user) : access.user);
  const std::string priv_host(access.user.empty() ? std::string_view(own->priv_host) : access.host);
  const std::string address(access.address), schema(access.schema), table(access.table);
  const bool is_local = address == "localhost";
  mysql_event_table event{};
  event.event_subclass = MYSQL_AUDIT_TABLE_LOCK;
  event.thread_id =
      static_cast<unsigned long>(access.thread_id != 0 ? access.thread_id : session->thread_id);
  event.user = event.priv_user = user.c_str();
  event.priv_host = priv_host.c_str();
  event.external_user = event.proxy_user = "";
  event.host = is_local ? address.c_str() : "";
  event.ip = is_local ? "" : address.c_str();
  event.database = Lex(schema);
  event.table = Lex(table);
  event.read_only = !access.writes;
  event.query_id = static_cast<unsigned long long>(session->query_id);
  mysql_audit_notify(thd, MYSQL_AUDIT_TABLE_CLASS, &event);
}

void TableAudit::Release() {
  for (const Owner& owner : owners_) {
    if (mysql_audit_release_required(owner.thd)) mysql_audit_release(owner.thd);
  }
}

void TableAudit::Close() {
  if (owners_.empty()) return;
  THD* const session = current_thd;
  for (const Owner& owner : owners_) EndThd(owner.thd);
  owners_.clear();
  if (session != nullptr) session->store_globals();
}

}  // namespace rowsocket::engine::server
