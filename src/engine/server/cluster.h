// What a session owes to the cluster that its server is in, Galera's or group replication's: all
// changes of a turn are one transaction there, which the members certify, order and apply.
//
// Group replication has hooks in the server's own commit and knows nothing of sessions: a turn
// waits for the group before it begins, and how its commit has failed is to be told (ConflictOf,
// MayStandElsewhere); is_active() is false. What MariaDB's own files alone ask stands in its
// galera.h. One cluster.cc for each family of servers.
//
// Flow of a turn, as a grammar: Begin { MarkBegin | LossOf }* [ EndTurn ]
// Begin is called before the first statement of the turn, EndTurn after its commit or rollback.
//
// Where there is no cluster each call is one look at a flag.
//
// Threads: the session's own. Source of the order of calls: the server's dispatch_command (sql/
// sql_parse.cc) and its event worker (sql/event_scheduler.cc) with sql/wsrep_trans_observer.h.
// Errors: 1047 where a node of Galera's is not ready, as SQL has it.
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
  /// The outcome of a commit, of a statement or of the transaction, that has failed because another
  /// member has changed the same rows before; one that is ok() where the commit has failed for
  /// another reason. REQUIRES: the commit's error has not been cleared.
  static Outcome ConflictOf(THD* thd) {
    if (!HasRefused(thd)) return {};
    Outcome conflict = Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    conflict.transaction_lost = true;
    return conflict;
  }
  /// Whether other members may carry out a transaction whose commit has failed here, because this
  /// one hears them no more, and EndTurn does not say so. REQUIRES: as ConflictOf.
  static bool MayStandElsewhere(THD* thd);

  /// Begins a turn in the cluster, which may wait for the cluster's latest state (wsrep_sync_wait,
  /// group_replication_consistency). `writes`: the turn may change rows. Closes the tables that the
  /// session keeps open where DDL waits for one of them, or may come to wait.
  void Begin(bool writes);
  /// Why this turn's requests are refused: the node is not ready, cannot wait for the cluster's
  /// latest state, or has its provider loaded and switched off.
  const Outcome& refusal(bool is_write) const { return is_write ? refused_write_ : refused_find_; }
  /// Whether the turn takes part in the cluster's order.
  bool is_active() const { return is_active_; }

  /// Notes where in the writeset a statement or a unit begins: its rollback goes back to there.
  static void MarkBegin(THD* thd);
  enum class LostBy : uint8_t {
    kNone,      ///< The transaction is not lost.
    kConflict,  ///< Another node's writeset has aborted it.
    kTooLarge,  ///< The server has rolled it back inside a call because it is too large.
  };
  /// By what the turn's transaction is lost, if it is.
  LostBy LossOf(bool has_changed_rows) const;
  /// Says in the outcome that the cluster has taken the turn's transaction back, and that the turn
  /// may run again.
  void TellLoss(LostBy loss, Outcome* outcome) const;
  /// Whether the tables of this session must be closed before EndTurn: a transaction that is
  /// ordered, and not committed, waits for its place behind DDL that waits for those tables.
  bool MustCloseTables() const;

  /// The outcome of the turn's transaction in the cluster.
  enum class TurnEnd : uint8_t {
    kAsServerSays,  ///< Committed, or failed for a reason of this server's own.
    kReplayed,      ///< The commit failed here, and the cluster has carried it out all the same.
    /// Another node's change came first, or KILL before the cluster had the writeset: run the turn
    /// again.
    kConflict,
    kTooLarge,
    kUnknown,  ///< The node lost its cluster while the writeset was under way.
  };
  /// Ends the turn in the cluster: the provider's work for the transaction, which the server has
  /// committed or rolled back.
  TurnEnd EndTurn();

 private:
  /// Whether the failed commit is one that ConflictOf tells of.
  static bool HasRefused(THD* thd);
  bool WaitForCluster(bool writes);

  SessionThd& thd_;
  Tables& tables_;
  bool is_active_ = false;
  Outcome refused_find_;
  Outcome refused_write_;
};

}  // namespace rowsocket::engine::server
