// The frame of one writing statement within a turn's transaction: what the server does before and
// after a statement's rows, so that it can be taken back alone and is logged as one.
//
// Flow: Begin { the rows } End, always both. The order of the steps follows Sql_cmd_insert_values
// and the others (MySQL 9.7, sql/sql_insert.cc, sql_update.cc, sql_delete.cc). Threads: the
// session's. Errors: those that the server left in the diagnostics area, by ServerFailure; a
// handler's numbers, by Failure.
#pragma once

#include <vector>

#include "engine/server/tables.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

/// Whether the table has triggers for this SQLCOM_ command. Triggers are not run.
bool HasTriggers(const TABLE& table, int sql_command);

class Statement {
 public:
  Statement(WorkerThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// Refuses tables to which no write of this kind can be right: `trigger`.
  static Outcome CheckTable(const TABLE& table, int sql_command);

  /// Locks the table. When it fails the statement has ended.
  Outcome Begin(OpenTable& open, int sql_command);
  /// Sets the kind of a statement that was not known when it began.
  void SetCommand(int sql_command);
  /// Writes record[0] as a new row, in the place of record[1], or deletes it, with what its foreign
  /// keys ask for. A handler's number; kReported: the reason is in the THD's diagnostics area.
  int WriteRow(TABLE* table);
  int UpdateRow(TABLE* table);
  int DeleteRow(TABLE* table);
  /// Commits the statement within the transaction, or takes it back when the outcome is an error.
  void End(OpenTable& open, Outcome* outcome);

  /// Whether the row was changed and could not be logged, so that the turn cannot go on.
  static bool LostEvents(const Outcome& outcome);
  Outcome Failure(int handler_error);
  Outcome ServerFailure() { return Failure(0); }

 private:
  static constexpr int kReported = -1;

  bool RunHookBefore(const OpenTable& open);
  int Wrote(int error);
  int ForeignKeyError(const TABLE& table);
  void FlushRowEvents(Outcome* outcome);

  WorkerThd& thd_;
  Tables& tables_;
  bool had_changed_rows_ = false;  ///< Whether the turn had changed rows before this statement.
  std::vector<TABLE*> nexts_;      ///< RunHookBefore's own.
};

}  // namespace rowsocket::engine::server
