// The rows of a turn that stay open while other statements and units run (S13): each is locked and
// read once, changed in memory by the requests that name it, and written once, when another
// statement needs its table, or at the turn's end.
//
// Two names may mean one row: a row is opened only when no open row has its position. Before a
// request reaches a table in another way, the table's open rows are closed (CloseRowsReachedBy).
// The open rows of a table are also closed before a write to another table that may reach it by a
// foreign key, because the server opens the table for that write.
//
// A unit that is taken back puts the images of its rows back. A row that earlier units have changed
// and that had to be written within the unit is lost with it, and the turn has to run again;
// callers call CloseRowsReachedBy before the unit begins, so that this does not happen.
//
// Threads: the session's.
// Lifetime: rows are open within a turn.
// Limits: kOpenRowsMax rows.
#pragma once

#include <memory>
#include <vector>

#include "engine/server/merged_row.h"

namespace rowsocket::engine::server {

class OpenRows {
 public:
  OpenRows(Tables& tables, MergedRow& row) : tables_(tables), row_(row) {}

  bool empty() const { return count_ == 0; }

  /// The open row that the request names, and on which it can be executed; null: none.
  OpenRow* Find(const IndexState& index, const model::Request& request);
  /// Closes the open rows that the request reaches in another way than by their names. `locks`: the
  /// request is executed on the newest rows, which it locks. REQUIRES: no statement is open.
  Outcome CloseRowsReachedBy(IndexState& index, const model::Request& request, bool locks);
  /// Opens the row that the request names, if requests can be merged on it; `*row` stays null if
  /// they cannot, or if there is no such row. REQUIRES: CloseRowsReachedBy; no statement is open.
  Outcome Open(IndexState& index, const model::Request& request, OpenRow** row);
  Outcome Execute(OpenRow& row, const model::Request& request, model::RowSink& sink);
  /// Writes and closes all rows.
  Outcome CloseAll(ClosedBy reason);
  /// Closes all rows without writing them, because the turn is rolled back.
  void Abandon();

  Outcome BeginUnit();
  /// Ends the unit; if it is taken back, puts back the images of its rows. False: a row is lost
  /// with the unit.
  bool EndUnit(bool keep);

  /// Whether a row of the index's table is open.
  bool HasRowOf(const IndexState& index) const;
  /// What became of the rows since the last call.
  OpenRowTally TakeTally();

 private:
  /// Whether the row that the request names may stay open while other statements run; `*open` is
  /// its table.
  bool MayStay(IndexState& index, const model::Request& request, OpenTable** open);
  Outcome Close(size_t at, ClosedBy reason);
  void Drop(size_t at);
  /// The index in rows_ of the open row with this position in the instance; count_: there is none.
  size_t At(const std::vector<uchar>& position, const OpenTable* open) const;

  Tables& tables_;
  MergedRow& row_;
  /// The first count_ are open, the others are kept for their memory.
  std::vector<std::unique_ptr<OpenRow>> rows_;
  size_t count_ = 0;
  bool in_unit_ = false;
  uint64_t unit_ = 0;     ///< The number of the last unit.
  bool is_lost_ = false;  ///< The unit cannot be taken back alone.
  OpenRowTally tally_;
};

}  // namespace rowsocket::engine::server
