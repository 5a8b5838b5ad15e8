// What a session has to do because its server is in a cluster (Galera or group replication): all
// changes of a turn are one transaction there, which the members certify, order and apply.
//
// Group replication has hooks in the server's own commit and knows nothing of sessions: a turn only
// waits for the group before it begins, and says how its commit has failed (ConflictOf,
// MayStandElsewhere); is_active() is false. What only MariaDB's own files ask is in galera.h. One
// cluster.cc for each family of servers.
//
// Flow of a turn, as a grammar: Begin { MarkBegin | LossOf }* [ EndTurn ]
// Begin is called before the first statement of the turn, EndTurn after its commit or rollback.
//
// If there is no cluster each call is one look at a flag.
//
// Threads: the session's own.
// Source of the order of calls: the server's dispatch_command (sql/sql_parse.cc) and its event
//         worker (sql/event_scheduler.cc) with sql/wsrep_trans_observer.h.
// Errors: 1047 if a node of Galera is not ready, as in SQL.
#pragma once

#include "api.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

class Tables;
class SessionThd;

class Cluster {
 public:
  Cluster(SessionThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// Whether the cluster replicates what a storage engine writes to this table.
  static bool Replicates(const TABLE& table);
  /// The outcome of a failed commit (of a statement or of the transaction), if it has failed
  /// because another member has changed the same rows before; otherwise an outcome that is ok().
  /// REQUIRES: the commit's error has not been cleared.
  static Outcome ConflictOf(THD* thd) {
    if (!HasRefused(thd)) return {};
    Outcome conflict = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    conflict.transaction_lost = true;
    return conflict;
  }
  /// Whether other members may carry out a transaction whose commit has failed here, because this
  /// member no longer hears them, in a way that EndTurn does not tell. REQUIRES: as ConflictOf.
  static bool MayStandElsewhere(THD* thd);

  /// Begins a turn in the cluster, which may wait for the cluster's latest state (wsrep_sync_wait,
  /// group_replication_consistency). `writes`: the turn may change rows. Closes the tables that the
  /// session keeps open if DDL waits for one of them, or may soon wait.
  void Begin(bool writes);
  /// Why this turn's requests are refused: the node is not ready, cannot wait for the cluster's
  /// latest state, or has its provider loaded and switched off.
  const Outcome& refusal(bool is_write) const { return is_write ? refused_write_ : refused_find_; }
  /// Whether the turn takes part in the cluster's order.
  bool is_active() const { return is_active_; }

  /// Notes where in the writeset a statement or a unit begins, so that its rollback can go back to
  /// there.
  static void MarkBegin(THD* thd);
  enum class LostBy : uint8_t {
    kNone,      ///< The transaction is not lost.
    kConflict,  ///< Another node's writeset has aborted it.
    kTooLarge,  ///< The server has rolled it back inside a call because it is too large.
  };
  /// What has cost the turn its transaction, if anything has.
  LostBy LossOf(bool has_changed_rows) const;
  /// Notes in the outcome that the cluster has taken the turn's transaction back, and that the turn
  /// may run again.
  void TellLoss(LostBy loss, Outcome* outcome) const;
  /// Whether the tables of this session must be closed before EndTurn: a transaction that is
  /// ordered, and not committed, waits for its place after DDL that waits for these tables.
  bool MustCloseTables() const;

  /// How the turn's transaction has ended in the cluster.
  enum class TurnEnd : uint8_t {
    kAsServerSays,  ///< Committed, or failed for a reason of this server's own.
    kReplayed,      ///< The commit failed here, and the cluster has carried it out all the same.
    /// Another node's change came first, or KILL came before the cluster had the writeset: run the
    /// turn again.
    kConflict,
    kTooLarge,
    kUnknown,  ///< The node lost its cluster while the writeset was under way.
  };
  /// Ends the turn in the cluster, with the provider's work for the transaction. The server has
  /// committed or rolled it back.
  TurnEnd EndTurn();

 private:
  /// Whether the failed commit is one for which ConflictOf gives an outcome that is not ok().
  static bool HasRefused(THD* thd);
  bool WaitForCluster(bool writes);

  SessionThd& thd_;
  Tables& tables_;
  bool is_active_ = false;
  Outcome refused_find_;
  Outcome refused_write_;
};

}  // namespace rowsocket::engine::server
