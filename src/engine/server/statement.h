// The frame of one writing statement within a turn's transaction: what the server does before and
// after a statement's rows, so that it can be taken back alone and is logged as one. What all
// servers do alike is in statement.cc, the rest in one statement.cc for each family.
//
// Flow: Begin { the rows } End, always both. The order of the steps follows the server's own
// statements (sql/sql_insert.cc, sql_update.cc, sql_delete.cc: mysql_insert and the others in
// MariaDB 10.11, Sql_cmd_insert_values and the others in MySQL 9.7).
// Threads: the session's. Errors: those that the server left in the diagnostics area, by
// ServerFailure; a handler's numbers, by Failure.
#pragma once

#include <climits>

#include "engine/server/session_thd.h"
#include "engine/server/tables.h"

namespace rowsocket::engine::server {

/// Whether the table has triggers for this SQLCOM_ command. Triggers are not run.
bool HasTriggers(const TABLE& table, int sql_command);

class Statement {
 public:
  Statement(SessionThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// In place of a handler's number: the reason is in the THD's diagnostics area.
  static constexpr int kReported = INT_MIN;

  /// Refuses tables to which no write of this kind can be right: `trigger`, in MySQL also for those
  /// of tables that cascades change, and in MariaDB `versioned` and `sequence`.
  static Outcome CheckTable(const OpenTable& open, int sql_command);

  /// Begins a statement: locks the table. When Begin fails the statement has ended.
  Outcome Begin(OpenTable& open, int sql_command);
  /// Sets the kind of a statement that was not known when it began.
  void SetCommand(int sql_command);
  /// Writes record[0] as a new row, in the place of record[1], or deletes it, with what the server
  /// itself does for its foreign keys. 0, a handler's number, or kReported.
  int WriteRow(TABLE* table);
  int UpdateRow(TABLE* table);
  int DeleteRow(TABLE* table);
  /// Commits the statement within the transaction, or takes it back when the outcome is an error.
  void End(OpenTable& open, Outcome* outcome);

  /// Whether the row was changed and could not be logged, so that the turn cannot go on.
  static bool LostEvents(const Outcome& outcome);
  /// What a handler's number, or kReported, means for the request: where it was killed as well,
  /// that it was, unless the error says that the row may have been changed.
  Outcome Failure(int handler_error);
  Outcome ServerFailure() { return Failure(kReported); }

 private:
  /// Why a row may not be changed, as WriteRow says it: a turn that is read only gives the
  /// transaction up, as after a deadlock; and the foreign keys are checked.
  int RefuseChange(TABLE* table, int sql_command);

  /// Notes what the statement has changed. Whether full-text indexes are wrong when it is taken
  /// back alone (Tables::CountFullTextChange).
  bool NoteFullTextChange(const OpenTable& open, const Outcome& outcome);
  /// Notes a change that the engine has made, unless `error` says that it has not. Returns `error`.
  int NoteWrite(const TABLE& table, int error);

  // Each family's own steps.

  /// Tells the log and the cluster of the statement, whose tables are locked. False with an error
  /// on the THD.
  bool Announce(OpenTable& open);
  /// Prepares the tables, whose engines know of the statement, for its rows.
  void PrepareForRows(const OpenTable& open);
  /// Has the server check the foreign keys that its engine does not. 0, a handler's number, or
  /// kReported.
  int CheckForeignKeys(TABLE* table, int sql_command);
  /// Notes what the log and the commit have to know of a change besides. `rolls_back`: the engine
  /// can take it back.
  void NoteForCommit(const TABLE& table, bool rolls_back);
  /// Writes the events of the statement's rows out of the pending buffer, with the mark that ends a
  /// statement.
  void FlushRowEvents(OpenTable& open, Outcome* outcome);
  /// Undoes what has been prepared. The statement has been committed or taken back. Where the
  /// engine cannot take changes back it says so in the outcome (Outcome::permanent), and unlocks
  /// the table.
  void Close(OpenTable& open, Outcome* outcome);

  SessionThd& thd_;
  Tables& tables_;
  bool had_changed_rows_ = false;  ///< Whether the turn had changed rows before the statement.
  bool has_changed_rows_ = false;  ///< Whether the statement has changed rows.
};

}  // namespace rowsocket::engine::server
