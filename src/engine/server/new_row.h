// Makes rows in memory as the server's own INSERT and UPDATE make them: conversion, DEFAULT, ON
// UPDATE, generated columns, NOT NULL, CHECK. Nothing here reads or writes the table. What all
// servers do alike is in new_row.cc, the rest in one new_row_rules.cc for each family.
//
// Flow of an update: record[0] holds the present row; Modify or Change turns it into the new row,
//                    and leaves the old one in record[1]. Conversions are strict from then on.
// Threads: the session's.
// Errors: kRefused or false; the reason is in the THD's diagnostics area.
#pragma once

#include <span>

#include "engine/server/arithmetic.h"
#include "engine/server/cells.h"
#include "engine/server/comparison_value.h"
#include "engine/server/index.h"
#include "engine/server/session_thd.h"
#include "model/request.h"

namespace rowsocket::engine::server {

/// While an ExplicitZero lives, 0 is an ordinary value in a column that otherwise generates a value
/// for 0.
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
    kSame,       ///< The row counts as modified, although there is nothing to write.
    kLeftAlone,  ///< A decrement would change a sign: the row does not count as modified.
    kRefused,
  };

  explicit NewRow(SessionThd& thd) : thd_(thd) {}

  /// Marks the columns that an update through this index reads and writes.
  void PrepareUpdate(TABLE* table, const IndexState& index);
  /// Makes the row of an update, an increment or a decrement.
  Made Modify(TABLE* table, const IndexState& index, const model::Find& find);
  /// Makes the row of an edit.
  Made Change(TABLE* table, const IndexState& index, std::span<const model::CellChange> changes);

  /// Makes a row of these values of the opened columns.
  bool Insert(TABLE* table, const IndexState& index, std::span<const model::Value> values);
  /// Makes a row as Insert does, after Insert has made one with as many values in the same
  /// statement.
  bool InsertAnother(TABLE* table, const IndexState& index, std::span<const model::Value> values);
  /// Makes a row of an edit's key and these values of the opened columns.
  bool InsertEdited(TABLE* table, const IndexState& index, const model::Edit& edit,
                    std::span<const model::CellChange> changes);
  /// Ends what Insert or InsertEdited has begun. Call when the row is written, or will not be:
  /// during an insert, the server takes NULL for the AUTO_INCREMENT column as 0.
  static void EndInsert(TABLE* table);
  /// False if the edit wants the columns of the index left alone, and the changes do not.
  static bool KeepsKey(const TABLE& table, const IndexState& index, const model::Edit& edit,
                       std::span<const model::CellChange> changes);

 private:
  // Each family of servers defines these, in new_row_rules.cc of its folder.

  /// Marks the columns that an insert reads and writes besides those that are given, and calls
  /// StartInsert.
  bool PrepareInsert(TABLE* table);
  /// Makes record[0] a row without any value given.
  bool StartInsert(TABLE* table);
  /// Adds what the server adds to a row of given values, and checks the row.
  bool CompleteInsert(TABLE* table);
  /// Marks the columns that an update reads and writes besides those that are given.
  static void MarkUpdate(TABLE* table);
  Made CompleteUpdate(TABLE* table);

  bool FillInsert(TABLE* table, const IndexState& index, std::span<const model::Value> values);
  void BeginUpdate(TABLE* table);
  Made StoreNewValues(TABLE* table, const IndexState& index, const model::Find& find);
  Step AddTo(Field* field, const model::Find& find, size_t i);
  bool IsLeftAlone(TABLE* table, const std::vector<uint>& fields, const model::Find& find,
                   size_t refused);
  bool StoreChange(Field* field, const model::CellChange& change);
  bool StoreExactly(Field* field, const model::Value& value);
  bool StoreTold(Field* field, const model::Value& value);
  /// Stores a key part of a new row. Fails if the key would not find the row afterwards.
  bool StoreKey(Field* field, const model::Value& value);
  /// Returns `is_same`. If it is false, the field holds another value than was given, which is an
  /// error.
  static bool IsSame(const Field* field, bool is_same);

  SessionThd& thd_;
  CellBuffers cells_;
  ComparisonValue key_;
};

}  // namespace rowsocket::engine::server
