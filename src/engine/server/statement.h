// The frame of one writing statement within a turn's transaction: what the server does before and
// after a statement's rows, so that the statement can be taken back alone, and is logged as one.
// What all servers do alike is in statement.cc, the rest in one statement.cc for each family.
//
// Flow: Begin { the rows } End, always both. The order of the steps follows the server's own
// statements (sql/sql_insert.cc, sql_update.cc, sql_delete.cc: mysql_insert and the others in
// MariaDB 10.11, Sql_cmd_insert_values and the others in MySQL 9.7).
// Threads: the session's.
// Errors: those that the server left in the diagnostics area, by ServerFailure; a handler's
// numbers, by Failure.
#pragma once

#include <climits>
#include <vector>

#include "engine/server/session_thd.h"
#include "engine/server/tables.h"
#include "engine/server/turn_changes.h"

namespace rowsocket::engine::server {

/// Whether the table has triggers for this SQLCOM_ command. Triggers are not run.
bool HasTriggers(const TABLE& table, int sql_command);

class Statement {
 public:
  Statement(SessionThd& thd, Tables& tables, TurnChanges& changes)
      : thd_(thd), tables_(tables), changes_(changes) {}

  /// In place of a handler's number: the reason is in the THD's diagnostics area.
  static constexpr int kReported = INT_MIN;

  /// Refuses tables on which a write of this kind cannot be done as SQL does it: with `trigger` (in
  /// MySQL also for triggers of tables that cascades may change), and in MariaDB with `versioned`
  /// and `sequence`. `columns`: the columns that an update sets.
  static Outcome CheckTable(const OpenTable& open, int sql_command,
                            const std::vector<uint>& columns);

  /// Begins a statement: locks the table. When Begin fails, the statement has ended.
  Outcome Begin(OpenTable& open, int sql_command);
  /// Sets the kind of a statement that was not known when it began.
  void SetCommand(int sql_command);
  /// Writes record[0] as a new row or in the place of record[1], or deletes it, with the server's
  /// own work for foreign keys. Returns 0, a handler's number, or kReported.
  int WriteRow(TABLE* table);
  int UpdateRow(TABLE* table);
  int DeleteRow(TABLE* table);
  /// Commits the statement within the transaction, or takes it back when the outcome is an error.
  void End(OpenTable& open, Outcome* outcome);

  /// Whether the row was changed but could not be logged, so that the turn cannot go on.
  static bool LostEvents(const Outcome& outcome);
  /// What a handler's number, or kReported, means for the request. If the request was killed as
  /// well, that is its error, unless the row may have been changed.
  Outcome Failure(int handler_error);
  Outcome ServerFailure() { return Failure(kReported); }

 private:
  /// Checks whether the row may be changed, and returns what WriteRow returns: a turn that is read
  /// only gives the transaction up, as after a deadlock; then the foreign keys are checked.
  int RefuseChange(TABLE* table, int sql_command);

  /// Notes a change of a table with a full-text index. Returns whether full-text indexes would be
  /// wrong if the statement were taken back alone (TurnChanges::CountFullTextChange).
  bool NoteFullTextChange(const OpenTable& open, const Outcome& outcome);
  /// Notes a change that the engine has made, unless `error` says that it has not. Returns `error`.
  int NoteWrite(const TABLE& table, int error);

  // Each family's own steps.

  /// Tells the log and the cluster about the statement, whose tables are locked. False: the THD has
  /// an error.
  bool Announce(OpenTable& open);
  /// Prepares the tables for the rows of the statement, after their engines were told of it.
  void PrepareForRows(const OpenTable& open);
  /// Makes the server check the foreign keys that its engine does not check. Returns 0, a handler's
  /// number, or kReported.
  int CheckForeignKeys(TABLE* table, int sql_command);
  /// Notes what else the log and the commit have to know about a change. `rolls_back`: the engine
  /// can take it back.
  void NoteForCommit(const TABLE& table, bool rolls_back);
  /// Writes the events of the statement's rows from the pending buffer to the log, with the mark
  /// that ends a statement.
  void FlushRowEvents(OpenTable& open, Outcome* outcome);
  /// Undoes what was prepared, after the statement was committed or taken back. If the engine
  /// cannot take changes back, sets Outcome::permanent and unlocks the table.
  void Close(OpenTable& open, Outcome* outcome);

  SessionThd& thd_;
  Tables& tables_;
  TurnChanges& changes_;
  bool had_changed_rows_ = false;  ///< Whether the turn had changed rows before the statement.
  bool has_changed_rows_ = false;  ///< Whether the statement has changed rows.
};

}  // namespace rowsocket::engine::server
