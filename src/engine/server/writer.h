// Executes the writes of one session, each as a statement of its own in the turn's transaction, so
// that the row is the one SQL would have written: defaults, ON UPDATE, generated columns, CHECK,
// NOT NULL, strict conversion, row events.
//
// Requests of the same kind for single rows of one index share one statement of the server, which
// is prepared once and stays open until another kind comes (Seal). Each of these requests can fail
// alone, because the storage engine takes back a failed change of one row as a whole; so only
// requests for InnoDB's tables share statements, and only if they change one row.
//
// Threads: the session's.
#pragma once

#include <vector>

#include "engine/server/cells.h"
#include "engine/server/new_row.h"
#include "engine/server/row_finder.h"
#include "engine/server/statement.h"

namespace rowsocket::engine::server {

class Writer {
 public:
  Writer(SessionThd& thd, Tables& tables, TurnChanges& changes)
      : thd_(thd),
        tables_(tables),
        changes_(changes),
        statement_(thd, tables, changes),
        new_row_(thd) {}

  /// Executes the request. REQUIRES: a turn that writes is open.
  Outcome Execute(IndexState& index, const model::Request& request, model::RowSink& sink);

  /// Ends the statement that requests have left open. REQUIRED before BeginRow and before a commit.
  Outcome Seal();
  /// Ends the statement that requests have left open, because the turn is rolled back.
  void Abandon();
  /// Whether requests have left a statement open.
  bool has_statement() const { return open_statement_.open_table != nullptr; }

 private:
  /// The kind of requests that may join a statement.
  enum class Kind : uint8_t { kAlone, kUpdate, kDelete, kInsert, kEdit };
  struct OpenStatement {
    OpenTable* open_table = nullptr;  ///< Null: no statement is open.
    const IndexState* index = nullptr;
    Kind kind = Kind::kAlone;
    size_t values = 0;   ///< kInsert: how many columns are given.
    bool spent = false;  ///< No request may join the statement any more.
    /// A request has deleted its row, and has yet to insert it anew.
    bool deleted_not_reinserted = false;
  };

  /// The kind of statement that a request may join. A statement is shared only if the engine takes
  /// back a failed change of one row as a whole, and a statement that may change a row twice only
  /// if replicas can carry that out.
  static Kind KindOf(const OpenTable& open, IndexState& index, const model::Request& request);
  bool Joins(const OpenTable& open, const IndexState& index, Kind kind,
             const model::Request& request) const;
  Outcome Join(OpenTable& open, IndexState& index, const model::Request& request,
               model::RowSink& sink);
  Outcome FindAndModify(OpenTable& open, IndexState& index, const model::Find& find,
                        model::RowSink& sink);
  Outcome ExecuteStatement(OpenTable& open, IndexState& index, const model::Request& request,
                           model::RowSink& sink);
  Outcome Insert(OpenTable& open, IndexState& index, const model::Insert& insert);
  Outcome WriteRow(TABLE* table);
  static int AutoIncrementError(TABLE* table);

  Outcome Modify(OpenTable& open, IndexState& index, const model::Find& find, model::RowSink& sink);
  Outcome ModifyFirst(OpenTable& open, IndexState& index, const model::Find& find,
                      model::RowSink& sink);
  Outcome ModifyAll(OpenTable& open, IndexState& index, const model::Find& find,
                    model::RowSink& sink);
  int CollectRows(OpenTable& open, bool may_repeat);
  /// Changes the row in record[0], or sends it if the request only finds. `*counts`: whether the
  /// row counts for the answer to the client.
  Outcome ModifyRow(OpenTable& open, IndexState& index, const model::Find& find,
                    model::RowSink& sink, bool* counts);
  Outcome FinishUpdate(TABLE* table, NewRow::Made made);
  Outcome DeleteRow(TABLE* table);

  Outcome Edit(OpenTable& open, IndexState& index, const model::Edit& edit);
  void MarkForEdit(TABLE* table, IndexState& index);
  Outcome PrepareEdit(TABLE* table, IndexState& index);
  /// Reads the row, lets the editor decide, and writes. `*again`: another session has inserted the
  /// row meanwhile.
  Outcome EditOnce(OpenTable& open, IndexState& index, const model::Edit& edit, bool* again);
  // How an edit is carried out. Each function first checks that the table allows it.
  Outcome DeleteEdited(OpenTable& open);
  Outcome UpdateEdited(OpenTable& open, IndexState& index,
                       std::span<const model::CellChange> changes);
  Outcome InsertEdited(OpenTable& open, IndexState& index, const model::Edit& edit,
                       std::span<const model::CellChange> changes, bool* again);
  /// Deletes the row and inserts it anew. A row that a foreign key refers to is only changed.
  Outcome Renew(OpenTable& open, IndexState& index, const model::Edit& edit,
                std::span<const model::CellChange> changes, bool* again);

  SessionThd& thd_;
  Tables& tables_;
  TurnChanges& changes_;
  Statement statement_;
  NewRow new_row_;
  RowFinder finder_;
  CellBuffers cells_;
  RowCells row_cells_;
  std::vector<uchar> positions_;
  OpenStatement open_statement_;
};

}  // namespace rowsocket::engine::server
