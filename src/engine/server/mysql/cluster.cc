#include "engine/server/cluster.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "engine/server/cluster_node.h"
#include "engine/server/session_thd.h"
#include "engine/server/tables.h"
#include "mysql/plugin_group_replication.h"
#include "sql/rpl_group_replication.h"
#include "sql/rpl_handler.h"

namespace rowsocket::engine::server {

namespace {

/// The first number in a text; 0 if there is none.
int FirstNumber(std::string_view text) {
  int number = 0;
  const size_t first = text.find_first_of("0123456789");
  if (first != text.npos) std::from_chars(text.data() + first, text.data() + text.size(), number);
  return number;
}

/// One line of performance_schema.replication_group_members.
struct Member {
  bool is_this_server = false;
  bool is_in_group = false;  ///< The member takes part in the group: it is online, or catches up.
};

Member MemberAt(unsigned number) {
  Member member;
  const auto ignore = [](void*, const char&, size_t) {};
  const GROUP_REPLICATION_GROUP_MEMBERS_CALLBACKS callbacks{
      &member,
      ignore,
      [](void* to, const char& id, size_t length) {
        static_cast<Member*>(to)->is_this_server = std::string_view(&id, length) == server_uuid;
      },
      ignore,
      [](void*, unsigned) {},
      [](void* to, const char& text, size_t length) {
        const std::string_view state(&text, length);
        static_cast<Member*>(to)->is_in_group = state == "ONLINE" || state == "RECOVERING";
      },
      ignore,
      ignore,
      ignore};
  get_group_replication_group_members_info(number, callbacks);
  return member;
}

/// Whether group replication is loaded, and this server is in no group, or in one that has no
/// majority: the group's decisions do not reach it.
bool HasLostItsGroup() {
  const unsigned members = get_group_replication_members_number_info();
  unsigned in_group = 0;
  bool hears = false;
  for (unsigned number = 0; number < members; ++number) {
    const Member member = MemberAt(number);
    in_group += member.is_in_group ? 1 : 0;
    hears |= member.is_this_server && member.is_in_group;
  }
  return members > 0 && !(hears && in_group * 2 > members);
}

/// How long a turn waits for its group, as Galera's provider does by default.
constexpr unsigned long kGroupWaitSeconds = 30;

/// Waits until the group lets the next transaction begin, as group_replication_consistency says.
/// Returns whether it may. The server's own call takes the time to wait from the session's
/// wait_timeout, which is therefore set only during the call.
bool MayBegin(THD* thd, unsigned long seconds) {
  auto& wait_timeout = thd->variables.net_wait_timeout;
  const auto own = std::exchange(wait_timeout, seconds);
  int refused = 0;
  const bool may_begin = transaction_delegate->trans_begin(thd, refused) == 0 && refused == 0;
  wait_timeout = own;
  return may_begin;
}

}  // namespace

bool IsClusterNode() { return false; }
bool IsFirstClusterNode() { return false; }
bool HoldsClusterOrder() { return false; }
void AddClusterNode(model::Health*) {}

bool Cluster::Replicates(const TABLE&) { return true; }
void Cluster::MarkBegin(THD*) {}

// The group's applier may wait for a table that this session keeps open. So the tables are closed
// before a wait for all earlier transactions; for other waits, only if there is something to wait
// for.
bool Cluster::WaitForCluster(bool) {
  THD* thd = thd_.get();
  const auto consistency = thd->variables.group_replication_consistency;
  const bool waits_for_all = consistency == GROUP_REPLICATION_CONSISTENCY_BEFORE ||
                             consistency == GROUP_REPLICATION_CONSISTENCY_BEFORE_AND_AFTER;
  if (!waits_for_all && MayBegin(thd, /*seconds=*/1)) return true;
  if (thd_.killed()) return false;
  tables_.CloseAll();
  return MayBegin(thd, kGroupWaitSeconds);
}

// Group replication is an observer of transactions, and plugins of semisynchronous replication may
// be others.
void Cluster::Begin(bool writes) {
  if (transaction_delegate->is_empty() && refused_find_.ok()) [[likely]]
    return;
  refused_find_ = refused_write_ =
      WaitForCluster(writes) ? Outcome() : Outcome::Fail(model::ErrorCode::kLockWait);
}

Cluster::LostBy Cluster::LossOf(bool) const { return LostBy::kNone; }
void Cluster::TellLoss(LostBy, Outcome*) const {}
bool Cluster::MustCloseTables() const { return false; }
Cluster::TurnEnd Cluster::EndTurn() { return TurnEnd::kAsServerSays; }

// True if group replication has not certified the transaction, or has let the engine end it in
// favor of one that was certified. In the second case the error's text contains the engine's
// number, in every language.
bool Cluster::HasRefused(THD* thd) {
  if (!thd->is_error()) return false;
  const Diagnostics_area& area = *thd->get_stmt_da();
  if (area.mysql_errno() == ER_TRANSACTION_ROLLBACK_DURING_COMMIT) return true;
  return area.mysql_errno() == ER_ERROR_DURING_COMMIT &&
         FirstNumber(area.message_text()) == HA_ERR_LOCK_DEADLOCK;
}

// Group replication may have ended a transaction that it had sent to the group, because this member
// leaves the group or has lost its majority. A transaction that was not certified, or not sent,
// gives the same errors, and a member that no longer hears its group cannot tell which it was.
bool Cluster::MayStandElsewhere(THD* thd) {
  if (!thd->is_error()) return false;
  const uint number = thd->get_stmt_da()->mysql_errno();
  return (number == ER_TRANSACTION_ROLLBACK_DURING_COMMIT || number == ER_RUN_HOOK_ERROR) &&
         HasLostItsGroup();
}

}  // namespace rowsocket::engine::server
