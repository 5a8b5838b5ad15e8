// The contract between src/exec and a storage engine: all knowledge of the database server stays on
// the other side of it.
//
// Flow, as a grammar:
//
//   session := { OpenIndex | Inspect | turn | LogSlow | ReleaseTables }*
//   turn    := BeginTurn { Execute | row | { CloseRowsReachedBy }* unit }* end
//   row     := BeginRow { RowTakes Execute }* EndRow
//   unit    := BeginUnit { Execute }* EndUnit
//   end     := [ CloseRows ] [ PrepareCommit ] Commit | Rollback
//
// MayOpen may be called where OpenIndex may, which is also within a turn, before its first Execute;
// EstimateRows where Inspect may, which is also anywhere in a turn. MayExecute, RefuseWaits and
// TellAccess may be called anywhere between BeginTurn and the end of the turn, EndAccesses after
// the last TellAccess. A row here means requests for one row that are executed on a copy in memory,
// which is written once. A row is open only when BeginRow says so; Rollback ends it as well. A unit
// means requests with one outcome. A request that shares its row (Request::shares_row) may open the
// row by itself: such a row stays open while other statements and units run, until CloseRows at the
// latest.
//
// What an implementation must satisfy:
//   S1  All finds of a turn that lock nothing see one consistent state, together with the writes of
//       the turn that have run before them.
//   S2  Execute is one statement: when its outcome is an error, it has changed nothing, and the
//       earlier statements of the turn stand (engines without transactions cannot take rows back).
//   S3  When Commit of a turn that writes returns success, every change of the turn is durable as
//       the server is configured, and so is everything of other sessions that the turn has seen,
//       unless the turn has executed nothing but relaxed writes; when Commit returns an error, no
//       change is there, except with kUnknown, where nobody knows.
//   S4  With LockWait::kNever no call waits for a lock that another session holds: the outcome is
//       kBusy, and that statement has changed nothing. PrepareCommit and Commit wait for backups
//       all the same.
//   S5  After ReleaseTables a session holds nothing between turns that makes another session wait.
//   S6  Outcome::transaction_lost says that the engine has rolled the whole turn back, however the
//       call itself has ended; the caller calls Rollback and may run the turn again.
//   S7  The requests of a row have the answers and the effects that they would have one by one, in
//       this order: each request sees the row as the requests before it left it (absent, perhaps)
//       and sends its own before-image; a request whose outcome is an error has changed nothing,
//       and the others stand.
//   S8  BeginRow locks the row, so that no other session changes it before EndRow. EndRow writes
//       the row once, as one change from what BeginRow read; a row that has not changed is not
//       written. If EndRow fails, the answers of that row's requests are not true: the caller calls
//       Rollback and runs the turn again without rows.
//   S9  If S7 cannot be kept, BeginRow and RowTakes say so, having changed nothing: a request
//       that an open row does not take is executed after EndRow.
//   S10 A request with an account is judged by the rights that the account has after BeginTurn,
//       before anything is locked for the request. A request that the account may not have executed
//       is kDenied and has changed nothing. MayOpen opens nothing, and reveals nothing about a
//       table that the account may not see.
//   S11 What EndUnit(false) takes back, and what an EndUnit that fails was to keep, is gone from
//       the tables and from the binary log; the earlier statements of the turn stand. Locks stay.
//   S12 In a unit, a find by every part of a unique key locks its row and reads the newest version.
//       A write to a table whose engine cannot take it back is kGroup and has changed nothing.
//   S13 Requests on a row that stays open have the answers and the effects that they would have one
//       by one. A request that reaches the row by another way (another text of its key, another
//       index, a range, a foreign key) finds it as the requests before have left it: the row is
//       written first. A unit that is taken back leaves the row as the units before have left it.
//       If that cannot be kept, or if the row cannot be written, the outcome is kRowLost: the
//       answers of the row's requests are not true.
//
// Threads: a session belongs to one thread (invariant I5), except Interrupt; an Index to all.
// Errors: model::Error in the outcome. If memory runs out a call may throw std::bad_alloc, after
// which only Rollback may follow.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/require.h"
#include "engine/facts.h"
#include "engine/index.h"
#include "engine/slow_request.h"
#include "engine/table_access.h"
#include "model/error.h"
#include "model/request.h"
#include "model/row_sink.h"

namespace rowsocket::engine {

enum class LockWait : uint8_t {
  kNever,   ///< A lock that another session holds answers kBusy at once.
  kServer,  ///< Wait as the server's own sessions do, up to their timeouts.
};

/// The result of a call, and the facts about the call that do not depend on the result.
struct Outcome {
  enum class Result : uint8_t {
    kDone,
    kFailed,  ///< The statement failed with `error`, which is the answer.
    /// Another session holds a lock that this statement needs. `error` is the error of a wait that
    /// runs out of time. Only with LockWait::kNever, or after RefuseWaits.
    kBusy,
    /// A table that this session holds is in another session's way (a DDL statement that this
    /// session would deadlock with, an old version of the table): the caller gives the tables back,
    /// and tries again a moment later. Only with LockWait::kServer; a session that does not wait
    /// gets kBusy.
    kGivesWay,
    kDeadlock,  ///< This turn was rolled back to end a deadlock, and may well succeed when it runs
                ///< again.
    /// Another node's change of the same rows came first in the order of the cluster, so that the
    /// cluster has taken this turn back; the turn may well succeed when it runs again.
    kConflict,
    /// A row that stayed open is lost, and the turn with it (S13): the turn may well succeed when
    /// it runs again without a request that shares its row.
    kRowLost,
    /// Too much for one transaction, or for an engine that cannot take this statement or unit back
    /// alone; the requests may well succeed in transactions of their own.
    kMustSplit,
    /// The result of a Commit whose changes may be there or not, on this server, after a failover
    /// or in the rest of its cluster. No client whose request may have changed something is told
    /// that it has succeeded, nor that it has failed. A turn that has changed nothing may be
    /// answered with `error`. Where that is ok, the server's own commit has succeeded: such a turn
    /// has lost nothing then, and what it has seen is durable (S3).
    kUnknown,
  };
  Result result = Result::kDone;
  model::Error error;             ///< Why the call has failed.
  bool transaction_lost = false;  ///< The whole turn is rolled back (S6).
  bool permanent = false;  ///< The engine cannot take this statement back, whatever the turn does.
  /// The statement has waited (with kBusy: would have to wait) for a lock that is not that of the
  /// row that its request names: that row may well be free.
  bool waits_elsewhere = false;
  bool has_insert_id = false;  ///< The table has an AUTO_INCREMENT column.
  uint64_t insert_id = 0;      ///< The generated value; 0 when the client gave one.
  uint64_t rows = 0;           ///< Rows sent to the sink, or changed.
  bool on_open_row = false;    ///< The request was executed on a row that stays open (S13).
  uint64_t rows_passed = 0;    ///< Rows that a scan has read after its first row, sent or not.

  bool ok() const { return result == Result::kDone; }
  /// Whether the request is answered as far as the engine is concerned: it neither waits for a lock
  /// nor has to run again with its turn. kGivesWay counts as an answer: its error is the answer,
  /// unless the caller tries again, and then drops the reply.
  bool is_answer() const { return result != Result::kBusy && !transaction_lost; }
  static Outcome Make(Result result, model::Error error) {
    Outcome outcome;
    outcome.result = result;
    outcome.error = error;
    return outcome;
  }
  /// An outcome that is kDone when `error` says that nothing is wrong, otherwise kFailed.
  static Outcome Of(model::Error error) {
    return Make(error.ok() ? Result::kDone : Result::kFailed, error);
  }
  static Outcome Of(model::ErrorCode code) { return Of(model::Error{code, 0}); }
  /// A kFailed outcome. REQUIRES: `code` is not kNone.
  static Outcome Fail(model::ErrorCode code) {
    ROWSOCKET_REQUIRE(code != model::ErrorCode::kNone);
    return Of(code);
  }
};

/// Why requests for one row are executed one by one and not as one change of the row.
enum class NotMergeable : uint8_t {
  kNone,  ///< The requests are merged.
  /// An insert, or not one row by `=` and every part of a unique key; or the key is kept by a hash,
  /// as UNIQUE over a whole TEXT is.
  kRequest,
  kEngine,  ///< The engine cannot take a statement back.
  /// The table is partitioned, or has an application period or a VECTOR index; an edit of a table
  /// whose values come from a sequence or from an AUTO_INCREMENT that is not in the key.
  kTable,
  kTrigger,
  kVersioned,
  /// The request changes a column of a unique key; an edit of a table with another unique key.
  kUniqueKey,
  /// The request changes a column of a foreign key, or deletes a row that other rows may refer to;
  /// an edit of a table with any foreign key.
  kForeignKey,
  /// A generated column depends on a column that the request changes, or is a BLOB; an edit of a
  /// table with any generated column.
  kGenerated,
  kCheck,  ///< The table has CHECK constraints.
  kCount
};

/// The answer of BeginRow.
struct RowOpening {
  NotMergeable reason = NotMergeable::kNone;
  Outcome outcome;  ///< As Execute's, if `reason` is kNone.

  bool opened() const { return reason == NotMergeable::kNone && outcome.ok(); }
  static RowOpening Refused(NotMergeable reason) {
    RowOpening opening;
    opening.reason = reason;
    return opening;
  }
};

/// Why a row that requests of the turn share is written and closed.
enum class ClosedBy : uint8_t {
  kFind,        ///< A find reads the table.
  kWrite,       ///< A write to the table is not for one row by a unique key, or may not be merged.
  kSameRow,     ///< A request names the row by another name.
  kForeignKey,  ///< A write to another table may reach the row.
  kLimit,       ///< Too many rows were open.
  kTurnEnd,     ///< Nothing has closed the row before the end of the turn.
  kCount
};

/// What became of the rows of a turn that stayed open.
struct OpenRowTally {
  uint64_t rows = 0;      ///< Rows that several requests were executed on.
  uint64_t requests = 0;  ///< Requests that were executed on such a row.
  uint64_t closed[static_cast<size_t>(ClosedBy::kCount)] = {};  ///< Rows, by what has closed them.
};

class Session {
 public:
  virtual ~Session() = default;

  /// Looks the names up; `*index` is set on success only. Equal names give the same object, in all
  /// sessions of a factory.
  virtual Outcome OpenIndex(const IndexNames& names, std::shared_ptr<Index>* index) = 0;

  /// Whether the account may see anything of the table that the names name; otherwise kDenied, also
  /// where there is no such table. A table of the server's own schemas is kSystemTable for every
  /// account. May be called wherever OpenIndex may.
  virtual Outcome MayOpen(const IndexNames& names, const model::Account& account) = 0;

  /// Opens the index if the account may see anything of its table; otherwise kDenied. Null
  /// `account`: all rights.
  Outcome OpenIndexFor(const model::Account* account, const IndexNames& names,
                       std::shared_ptr<Index>* index) {
    if (account != nullptr) {
      const Outcome outcome = MayOpen(names, *account);
      if (!outcome.ok()) return outcome;
    }
    return OpenIndex(names, index);
  }

  /// Tells what the index and its columns are right now. May be called wherever OpenIndex may, and
  /// anywhere in a turn, whose rows and statements stay as they are.
  virtual Outcome Inspect(Index& index, IndexFacts* facts) = 0;

  /// As Inspect, for a caller that holds a lock for which other threads wait: kKilled if the
  /// session was killed, because it may take long until such a session can be used again.
  virtual Outcome InspectAtOnce(Index& index, IndexFacts* facts) { return Inspect(index, facts); }

  /// About how many rows the table has, by its statistics; without statistics `*rows` stays as it
  /// is. May be called wherever Inspect may.
  virtual Outcome EstimateRows(Index& index, uint64_t* rows) = 0;

  /// Begins a turn. `writes`: the turn may have requests that write (Request::is_write). REQUIRES:
  /// no turn is open.
  virtual void BeginTurn(bool writes) = 0;

  /// Executes one request. Rows go to `sink`; on an error the caller drops what was pushed.
  /// REQUIRES: a turn is open; a write only in a turn that writes; while a row is open, only
  /// requests that RowTakes accepts; `index` came from a session of the same factory and is held by
  /// somebody until the turn's end.
  virtual Outcome Execute(Index& index, const model::Request& request, model::RowSink& sink) = 0;

  /// Whether the request's account may have it executed. Execute and BeginRow check that
  /// themselves; a caller that does something else for the request first has to ask. REQUIRES: as
  /// for Execute.
  virtual Outcome MayExecute(Index& index, const model::Request& request) = 0;

  /// Locks the row that `request` names and reads it, to execute this and further requests on it.
  /// REQUIRES: a turn that writes is open, and no row is open.
  virtual RowOpening BeginRow(Index& index, const model::Request& request) = 0;

  /// Whether the open row can execute this request, too: a find, a modification or an edit.
  /// REQUIRES: `request` is on the row's Index and has the row's key, byte for byte.
  virtual NotMergeable RowTakes(const model::Request& request) const = 0;

  /// Writes the row, if it has changed, and closes it.
  virtual Outcome EndRow() = 0;

  /// Closes the open rows that the request of a unit will reach by another way than their names, so
  /// that they are not written within the unit. May lock the request's row; fails only if the
  /// transaction is lost. REQUIRES: a turn that writes is open, and no unit.
  virtual Outcome CloseRowsReachedBy(Index& index, const model::Request& request) = 0;

  /// Writes the rows that are open because requests share them, and closes them; adds to `*tally`
  /// what became of the turn's open rows. REQUIRED before the commit of a turn with requests that
  /// share rows.
  virtual Outcome CloseRows(OpenRowTally* tally) = 0;

  /// Begins a unit. When it fails the unit has not begun. REQUIRES: a turn that writes is open, and
  /// neither a row nor a unit is open.
  virtual Outcome BeginUnit() = 0;

  /// Ends the unit: keeps what its requests have done, or takes all of it back. REQUIRES: if
  /// `keep` is true, the outcomes of all of its requests were ok.
  virtual Outcome EndUnit(bool keep) = 0;

  /// `refuse`: from now on a session with LockWait::kServer answers kBusy if it would wait for a
  /// lock, as one with kNever does. Otherwise it waits again, as it does from the next turn on.
  virtual void RefuseWaits(bool refuse) = 0;

  /// Whether this turn may have locked rows.
  virtual bool HoldsRows() const = 0;

  /// Waits while something, as a backup does, keeps commits back. False: no other session sees the
  /// turn's changes before they are durable, or the commit will fail, and Commit says why.
  /// REQUIRES: a turn that writes is open; Commit is called next.
  virtual bool PrepareCommit() = 0;

  /// Ends the turn. On an error the whole turn is rolled back, unless the result is kUnknown.
  virtual Outcome Commit() = 0;
  /// Takes the turn back. Rollback may be called outside of a turn, too: after a call that has
  /// thrown, the caller need not know whether a turn was open.
  virtual void Rollback() = 0;

  /// Gives back every table and lock. The owner of the session calls ReleaseTables when it has
  /// nothing to do for a while.
  virtual void ReleaseTables() = 0;
  /// True when ReleaseTables would give something back, or take note of a KILL.
  virtual bool HasToRelease() const = 0;

  /// Whether calls of this session wait for locks (LockWait::kServer).
  virtual bool WaitsForLocks() const = 0;
  /// How long calls of this session wait for a row, in milliseconds, as the server's settings were
  /// when the last turn began. REQUIRES: WaitsForLocks.
  virtual int64_t row_wait_ms() const = 0;

  /// Requests that take this many microseconds, or more, are slow.
  virtual int64_t slow_us() const = 0;
  /// Writes a request to the server's log of slow queries, if the server keeps one, and its
  /// variables let the request in. REQUIRES: no turn is open.
  virtual void LogSlow(const SlowRequest& request) = 0;

  /// Whether a plugin of the server (an audit plugin) wants to be told which tables requests have
  /// reached.
  virtual bool WantsAccesses() const = 0;
  /// Tells the plugins for which WantsAccesses is true of one request and one table. REQUIRES:
  /// WantsAccesses; a turn is open.
  virtual void TellAccess(const TableAccess& access) = 0;
  /// Call after the last TellAccess of a turn.
  virtual void EndAccesses() = 0;

  /// Whether the server wants this session to end: its owner closes it soon.
  virtual bool ShouldStop() const = 0;

  /// Sets what SHOW PROCESSLIST says about this session, next to its user; the text is kept until
  /// the next call.
  virtual void Describe(std::string_view text) = 0;

  /// Lets this session repair tables that a crash has damaged, however long that takes, as sessions
  /// that wait for locks do. To other sessions a damaged table is like one that another session has
  /// locked.
  virtual void AllowRepairs() {}

  /// Makes a wait inside the session end soon, with an error. Thread-safe.
  virtual void Interrupt() = 0;
};

/// While it lives, calls of a session that waits for locks answer kBusy if they would wait
/// (Session::RefuseWaits), if `refuses`.
class [[nodiscard]] RefusedWaits {
 public:
  explicit RefusedWaits(Session& session, bool refuses = true)
      : session_(refuses && session.WaitsForLocks() ? &session : nullptr) {
    if (session_ != nullptr) session_->RefuseWaits(true);
  }
  RefusedWaits(const RefusedWaits&) = delete;
  RefusedWaits& operator=(const RefusedWaits&) = delete;
  ~RefusedWaits() {
    if (session_ != nullptr) session_->RefuseWaits(false);
  }

 private:
  Session* const session_;
};

/// Makes sessions; shared by all threads.
class SessionFactory {
 public:
  virtual ~SessionFactory() = default;
  /// Makes a session, on the thread that will own it. Null when IsStopping, or if no session can
  /// be made, however often it is tried. Throws std::bad_alloc if there is no memory for one.
  virtual std::unique_ptr<Session> Create(LockWait lock_wait) = 0;
  /// Whether the server is shutting down, or the factory was told to make no more sessions. Any
  /// thread.
  virtual bool IsStopping() const { return false; }
};

}  // namespace rowsocket::engine
