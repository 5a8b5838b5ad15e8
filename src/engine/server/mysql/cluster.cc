#include "engine/server/cluster.h"

#include <algorithm>
#include <array>
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

using Uuid = std::array<char, sizeof(server_uuid) - 1>;

Uuid UuidOf(std::string_view text) {
  Uuid uuid{};
  std::copy_n(text.begin(), std::min(text.size(), uuid.size()), uuid.begin());
  return uuid;
}

/// One line of performance_schema.replication_group_members.
struct Member {
  Uuid uuid{};
  bool is_online = false;
  bool catches_up = false;
  bool is_primary = false;  ///< Where the group has several primaries, each member is one.

  /// Whether the member takes part in the group.
  bool is_in_group() const { return is_online || catches_up; }
};

Member MemberAt(unsigned number) {
  Member member;
  const auto ignore = [](void*, const char&, size_t) {};
  const GROUP_REPLICATION_GROUP_MEMBERS_CALLBACKS callbacks{
      &member,
      ignore,
      [](void* to, const char& id, size_t length) {
        static_cast<Member*>(to)->uuid = UuidOf({&id, length});
      },
      ignore,
      [](void*, unsigned) {},
      [](void* to, const char& text, size_t length) {
        const std::string_view state(&text, length);
        static_cast<Member*>(to)->is_online = state == "ONLINE";
        static_cast<Member*>(to)->catches_up = state == "RECOVERING";
      },
      [](void* to, const char& text, size_t length) {
        static_cast<Member*>(to)->is_primary = std::string_view(&text, length) == "PRIMARY";
      },
      ignore,
      ignore};
  get_group_replication_group_members_info(number, callbacks);
  return member;
}

/// What this server knows of its group. A server that is in no group knows itself alone, as a
/// member that takes no part; without the plugin, no member.
struct Group {
  unsigned members = 0;
  unsigned in_group = 0;
  bool has_this_server = false;  ///< This server takes part.
  /// The primary that is online; of several, the one with the lowest UUID. None: all zeros.
  Uuid housekeeper{};

  /// Whether the group's decisions reach this server.
  bool is_heard() const { return has_this_server && in_group * 2 > members; }
};

Group ReadGroup() {
  Group group;
  group.members = get_group_replication_members_number_info();
  for (unsigned number = 0; number < group.members; ++number) {
    const Member member = MemberAt(number);
    if (!member.is_in_group()) continue;
    ++group.in_group;
    group.has_this_server |= member.uuid == UuidOf(server_uuid);
    if (!member.is_online || !member.is_primary) continue;
    if (group.housekeeper == Uuid{} || member.uuid < group.housekeeper)
      group.housekeeper = member.uuid;
  }
  return group;
}

/// Whether group replication is loaded, and this server is in no group, or in one that has no
/// majority: the group's decisions do not reach it.
bool HasLostItsGroup() {
  const Group group = ReadGroup();
  return group.members > 0 && !group.is_heard();
}

/// Whether group_replication_group_name is set: this server is a member of a group, has been one,
/// or is about to become one.
bool BelongsToGroup() {
  bool has_name = false;
  const auto ignore = [](void*, const char&, size_t) {};
  const GROUP_REPLICATION_CONNECTION_STATUS_CALLBACKS callbacks{
      &has_name, ignore,
      [](void* to, const char&, size_t length) { *static_cast<bool*>(to) = length > 0; }, ignore,
      [](void*, bool) {}};
  get_group_replication_connection_status_info(callbacks);
  return has_name;
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
bool HoldsClusterOrder() { return false; }
void AddClusterNode(model::Health*) {}

// A member that changed something before it has joined would have a transaction of its own, with
// which the group does not take it. Once the group decides, one member removes what has expired,
// because several would conflict with each other.
NoHousekeeping WhyNoHousekeepingInCluster() {
  if (!BelongsToGroup()) return {};
  const Group group = ReadGroup();
  if (!group.is_heard())
    return {"this server is not online in its group (group_replication_group_name)",
            /*may_pass=*/true};
  if (group.housekeeper == Uuid{}) return {"no primary of the group is online", /*may_pass=*/true};
  if (group.housekeeper == UuidOf(server_uuid)) return {};
  return {
      "another member of the group does it: of its primaries, the one with the lowest "
      "server_uuid"};
}

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

// Group replication has not certified the transaction, or has let the engine end it in favor of one
// that was certified. In the second case the error's text contains the engine's number, in every
// language.
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
