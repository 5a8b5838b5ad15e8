// One row in memory that several requests are executed on: locked and read once, written once.
//
// Flow: Begin { Takes Execute }* End, or Abandon at any time. All of it is one statement of the
// turn's transaction. record[0] has the row as the requests so far have left it; what Begin read is
// kept aside, so that End can write the change from the one to the other.
//
// A row that stays open while other statements run: Begin PutAside { ExecuteOn }* WriteBack. Its
// image lies outside of the table's record buffers, so that several rows of a table may be open; it
// is found again by its position to be written.
//
// Threads: the session's.
// Limits: two copies of each BLOB value that requests have set.
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

/// A row that stays open while other statements run.
struct OpenRow {
  /// The row as the requests so far have left it.
  struct Image {
    bool exists = true;
    bool inserted = false;  ///< An edit has inserted the row.
    std::vector<uchar> bytes;
  };
  OpenTable* open = nullptr;
  IndexState* index = nullptr;
  std::vector<std::string> key;  ///< The values of the key as texts.
  std::vector<uchar> position;   ///< Where the table has the row: handler::ref.
  std::vector<uchar> read;       ///< The row as it was read.
  Image now;
  Image before_unit;       ///< Valid if `unit` is the unit that is open.
  uint64_t unit = 0;       ///< The last unit that was executed on the row.
  uint64_t opened_in = 0;  ///< The unit within which the row was read; 0: none.
  uint64_t requests = 0;

  bool IsChanged(const Image& image) const { return !image.exists || image.bytes != read; }
};

class MergedRow {
 public:
  MergedRow(SessionThd& thd, Tables& tables, TurnChanges& changes)
      : thd_(thd), tables_(tables), statement_(thd, tables, changes), new_row_(thd) {}

  RowOpening Begin(IndexState& index, const model::Request& request);
  bool is_open() const { return open_ != nullptr; }
  /// Why the row does not take the request; kNone: it does. REQUIRES: is_open().
  NotMergeable Takes(const model::Request& request) const;
  Outcome Execute(const model::Request& request, model::RowSink& sink);
  Outcome End();

  /// Ends the statement. A row that exists stays open, in `*row`. REQUIRES: is_open().
  Outcome PutAside(OpenRow* row);
  /// Executes the request on a row that was put aside. REQUIRES: no statement of the session is
  /// open.
  Outcome ExecuteOn(OpenRow& row, const model::Request& request, model::RowSink& sink);
  /// Writes the row, if it has changed. REQUIRES: no statement of the session is open.
  Outcome WriteBack(OpenRow& row);

  /// Closes the row without writing it, because the turn is rolled back.
  void Abandon();

 private:
  /// The bytes of a BLOB column that requests have set: the present value, and room for the next
  /// one.
  struct BlobBytes {
    std::string bytes[2];
    unsigned current = 0;
  };

  RowOpening Open(OpenTable& open, IndexState& index, std::span<const model::Value> key);
  Outcome Find(const model::Find& find, model::RowSink& sink);
  Outcome Edit(const model::Edit& edit);
  Outcome Finish(NewRow::Made made);
  Outcome InsertEdited(const model::Edit& edit, std::span<const model::CellChange> changes);
  /// Whether the row exists and meets the filters.
  Outcome Matches(const model::Find& find, bool* found);
  void MarkColumns();
  void TakeUp(const OpenRow& row);
  int FindAgain(const OpenRow& row);
  void KeepBlobs(bool all);
  int Write();
  int WriteInserted();
  Outcome Close(Outcome outcome);

  SessionThd& thd_;
  Tables& tables_;
  Statement statement_;
  NewRow new_row_;
  RowFinder finder_;
  CellBuffers cells_;
  RowCells row_cells_;

  OpenTable* open_ = nullptr;
  IndexState* index_ = nullptr;
  bool existed_ = false;   ///< The row existed when it was read.
  bool exists_ = false;    ///< The row exists now.
  bool inserted_ = false;  ///< The present row is one that an edit has inserted.
  std::vector<uchar> read_;
  std::vector<uchar> renewed_;    ///< The row as it was before an edit that deletes it and inserts
                                  ///< it anew.
  std::vector<BlobBytes> blobs_;  ///< By opened column.
};

}  // namespace rowsocket::engine::server
