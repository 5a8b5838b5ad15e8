// One row in memory that several requests are executed on: locked and read once, written once.
//
// Flow: Begin { Takes Execute }* End, or Abandon at any time. All of it is one statement of the
// turn's transaction. The row as the requests before left it stands in record[0]; what Begin read
// is kept aside, for End to write the change from there. Threads: the session's. Limits: two copies
// of each BLOB value that requests have set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/server/cells.h"
#include "engine/server/merge_rules.h"
#include "engine/server/new_row.h"
#include "engine/server/row_finder.h"
#include "engine/server/statement.h"

namespace rowsocket::engine::server {

class MergedRow {
 public:
  MergedRow(WorkerThd& thd, Tables& tables)
      : thd_(thd), tables_(tables), statement_(thd, tables), new_row_(thd) {}

  RowOpening Begin(ServerIndex& index, const model::Request& request);
  bool is_open() const { return open_ != nullptr; }
  /// REQUIRES: is_open().
  NotMergeable Takes(const model::Request& request) const;
  Outcome Execute(const model::Request& request, model::RowSink& sink);
  Outcome End();
  /// Closes the row where the turn is rolled back.
  void Abandon();

 private:
  /// The bytes of a BLOB column that requests have set: those of the row now, and room for the next
  /// value.
  struct BlobBytes {
    std::string bytes[2];
    unsigned current = 0;
  };

  RowOpening Open(OpenTable& open, ServerIndex& index, std::span<const model::Value> key);
  Outcome Find(const model::Find& find, model::RowSink& sink);
  Outcome Modify(const model::Find& find);
  Outcome Edit(const model::Edit& edit);
  Outcome Finish(NewRow::Made made);
  Outcome InsertEdited(const model::Edit& edit, std::span<const model::CellChange> changes);
  /// Whether the row is there and meets the filters.
  Outcome Matches(const model::Find& find, bool* found);
  void MarkColumns();
  void KeepBlobs();
  int Write();
  int WriteInserted();
  Outcome Close(Outcome outcome);

  WorkerThd& thd_;
  Tables& tables_;
  Statement statement_;
  NewRow new_row_;
  RowFinder finder_;
  CellBuffers cells_;
  RowCells row_cells_;

  OpenTable* open_ = nullptr;
  ServerIndex* index_ = nullptr;
  bool existed_ = false;   ///< The row was there when it was read.
  bool exists_ = false;    ///< The row is there now.
  bool inserted_ = false;  ///< The present row is one that an edit has inserted.
  std::vector<uchar> read_;
  std::vector<uchar> renewed_;    ///< The row before an edit that makes it anew.
  std::vector<BlobBytes> blobs_;  ///< By opened column.
};

}  // namespace rowsocket::engine::server
