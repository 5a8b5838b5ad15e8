// Makes rows in memory as the server's own INSERT and UPDATE make them: conversion, DEFAULT, ON
// UPDATE, generated columns, NOT NULL, CHECK. Nothing here reads or writes the table.
//
// Flow of an update: record[0] holds the row as it is; Modify or Change makes the new one of it and
// leaves the old one in record[1]. Conversions are strict from then on.
// Threads: the session's. Errors: kRefused or false; the reason is in the THD's diagnostics area.
#pragma once

#include <span>

#include "engine/server/cells.h"
#include "engine/server/index.h"
#include "model/request.h"
#include "worker_thd.h"

namespace rowsocket::engine::server {

/// In a column that generates its values 0 is a value like any other.
class ExplicitZero {
 public:
  explicit ExplicitZero(THD* thd) : thd_(thd), mode_(thd->variables.sql_mode) {
    thd->variables.sql_mode |= MODE_NO_AUTO_VALUE_ON_ZERO;
  }
  ~ExplicitZero() { thd_->variables.sql_mode = mode_; }
  ExplicitZero(const ExplicitZero&) = delete;
  ExplicitZero& operator=(const ExplicitZero&) = delete;

 private:
  THD* const thd_;
  const sql_mode_t mode_;
};

class NewRow {
 public:
  enum class Made : uint8_t {
    kChanged,
    kSame,       ///< Counts as modified, but there is nothing to write.
    kLeftAlone,  ///< A decrement would change a sign: does not count as modified.
    kRefused,
  };

  explicit NewRow(WorkerThd& thd) : thd_(thd) {}

  /// Marks the columns that an update through this index reads and writes.
  void PrepareUpdate(TABLE* table, const ServerIndex& index);
  /// What U, + or - make of the row.
  Made Modify(TABLE* table, const ServerIndex& index, const model::Find& find);
  /// What an edit makes of it.
  Made Change(TABLE* table, const ServerIndex& index, std::span<const model::CellChange> changes);

  /// A row of these values of the opened columns.
  bool Insert(TABLE* table, const ServerIndex& index, std::span<const model::Value> values);
  /// The same after a first one of as many values, within one statement.
  bool InsertAnother(TABLE* table, const ServerIndex& index, std::span<const model::Value> values);
  /// A row with this key and these values of the opened columns.
  bool InsertEdited(TABLE* table, const ServerIndex& index, const model::Edit& edit,
                    std::span<const model::CellChange> changes);

 private:
  bool PrepareInsert(TABLE* table);
  bool FillInsert(TABLE* table, const ServerIndex& index, std::span<const model::Value> values);
  bool CompleteInsert(TABLE* table);
  void BeginUpdate(TABLE* table);
  Made CompleteUpdate(TABLE* table);
  Made StoreNewValues(TABLE* table, const ServerIndex& index, const model::Find& find);
  bool StoreExactly(Field* field, const model::Value& value);

  WorkerThd& thd_;
  CellBuffers cells_;
};

}  // namespace rowsocket::engine::server
