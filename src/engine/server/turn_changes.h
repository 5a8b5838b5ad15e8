// What the turn under way has done to rows: whether it has changed some, whether a unit is open,
// and what may not be taken back alone.
//
// Flow: BeginTurn
//       -> { changes are noted | BeginUnit, changes are noted, EndUnit [ TakeBackUnit ] }*
//       -> the commit asks
// Threads: the session's.
#pragma once

#include "own.h"

namespace rowsocket::engine::server {

class TurnChanges {
 public:
  void BeginTurn() {
    has_changed_rows_ = in_unit_ = false;
    full_text_changes_ = full_text_changes_before_unit_ = 0;
    has_lost_full_text_changes_ = false;
    own_.BeginTurn();
  }

  /// Sets whether this turn is read only: if such a turn is to change a row after all, Statement
  /// ends its transaction, as after a deadlock.
  void SetReadOnly(bool is_read_only) { is_read_only_ = is_read_only; }
  bool is_read_only() const { return is_read_only_; }
  /// Notes whether rows of engines with transactions were changed in this turn, and not taken back.
  void SetChangedRows(bool changed) { has_changed_rows_ = changed; }
  bool has_changed_rows() const { return has_changed_rows_; }

  /// Begins a unit, whose statements are committed or taken back together, at its end.
  void BeginUnit() {
    in_unit_ = true;
    had_changed_rows_ = has_changed_rows_;
    full_text_changes_before_unit_ = full_text_changes_;
    own_.BeginChanges();
  }
  bool in_unit() const { return in_unit_; }
  void EndUnit() { in_unit_ = false; }
  /// Notes that the engines have taken the changes of the unit back that has ended.
  void TakeBackUnit() {
    own_.TakeBackChanges();
    has_changed_rows_ = had_changed_rows_;
    has_lost_full_text_changes_ =
        full_text_changes_before_unit_ != 0 && full_text_changes_ != full_text_changes_before_unit_;
    full_text_changes_ = full_text_changes_before_unit_;
  }

  /// Notes that a statement has changed rows of a table with a full-text index. If a later such
  /// statement is taken back alone, InnoDB's full-text index also forgets the rows that earlier
  /// statements of the transaction have changed (fts_savepoint_rollback_last_stmt).
  void CountFullTextChange() { ++full_text_changes_; }
  bool has_full_text_changes() const { return full_text_changes_ != 0; }
  /// Whether both the unit that was taken back last and earlier statements had changed rows of
  /// tables with full-text indexes: the changes of the earlier statements may be lost there.
  bool has_lost_full_text_changes() const { return has_lost_full_text_changes_; }

  /// What a family notes besides. Common code calls three of its functions: BeginTurn; BeginChanges
  /// when a unit, or a statement that may be taken back alone, begins; TakeBackChanges when that
  /// was taken back.
  TurnChangesOwn& own() { return own_; }

 private:
  bool is_read_only_ = false;
  bool has_changed_rows_ = false;
  bool in_unit_ = false;
  bool had_changed_rows_ = false;   ///< has_changed_rows_ as it was when the unit began.
  unsigned full_text_changes_ = 0;  ///< How often CountFullTextChange was called in the turn.
  /// full_text_changes_ as it was when the unit began.
  unsigned full_text_changes_before_unit_ = 0;
  bool has_lost_full_text_changes_ = false;
  TurnChangesOwn own_;
};

}  // namespace rowsocket::engine::server
