// Executes the writes of one session, each as a statement of its own in the turn's transaction, so
// that the row is the one SQL would have written: defaults, ON UPDATE, generated columns, CHECK,
// NOT NULL, strict conversion, row events.
//
// The order of the steps follows the server's own mysql_insert, mysql_update and mysql_delete
// (MariaDB 10.11, sql/sql_insert.cc, sql_update.cc, sql_delete.cc).
// Threads: the session's.
#pragma once

#include <vector>

#include "engine/mariadb/cells.h"
#include "engine/mariadb/row_finder.h"
#include "engine/mariadb/worker_thd.h"

namespace rowsocket::engine::mariadb {

class Writer {
 public:
  Writer(WorkerThd& thd, Tables& tables) : thd_(thd), tables_(tables) {}

  /// REQUIRES: a turn that writes is open.
  Outcome Execute(MariaIndex& index, const model::Request& request, model::RowSink& sink);

 private:
  Outcome CheckTable(const OpenTable& open, int sql_command) const;
  void BeginStatement(OpenTable& open);
  void EndStatement(OpenTable& open, Outcome* outcome);
  void FlushRowEvents(OpenTable& open, Outcome* outcome);

  Outcome Insert(OpenTable& open, MariaIndex& index, const model::Insert& insert);
  Outcome Modify(OpenTable& open, MariaIndex& index, const model::Find& find,
                 model::RowSink& sink);
  void PrepareModify(OpenTable& open, MariaIndex& index, const model::Find& find);
  Outcome ModifyFirst(OpenTable& open, MariaIndex& index, const model::Find& find,
                      model::RowSink& sink);
  Outcome ModifyAll(OpenTable& open, MariaIndex& index, const model::Find& find,
                    model::RowSink& sink);
  int CollectRows(OpenTable& open);

  /// Changes the row in record[0]. `*changed` counts as the protocol counts.
  Outcome ModifyRow(OpenTable& open, MariaIndex& index, const model::Find& find,
                    model::RowSink& sink, bool* changed);
  Outcome StoreNewValues(TABLE* table, MariaIndex& index, const model::Find& find,
                         bool* left_alone);
  Outcome WriteUpdatedRow(TABLE* table);

  Outcome Failure(int handler_error);
  static Outcome LostTransaction();
  Outcome ServerFailure() { return Failure(0); }

  WorkerThd& thd_;
  Tables& tables_;
  RowFinder finder_;
  CellBuffers cells_;
  std::vector<uchar> positions_;
};

}  // namespace rowsocket::engine::mariadb
