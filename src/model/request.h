// The requests that every layer talks about: what a protocol's parser produces, the executor
// orders and the engine session executes. Protocol-neutral.
//
// Lifetime: every span and Value is a view, see value.h. The spans that a RowEditor gives belong to
// the editor, and are valid until the editor is called again or its request is answered.
// Limits: the spans never hold more than limits.h allows; `key_parts_given` may be larger than the
// span, so that the engine can refuse a count although nobody has made room for so many values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/account.h"
#include "model/value.h"

namespace rowsocket::model {

enum class CompareOp : uint8_t { kEq, kGt, kGe, kLt, kLe, kNe };
inline constexpr size_t kCompareOps = static_cast<size_t>(CompareOp::kNe) + 1;

enum class Modification : uint8_t { kNone, kUpdate, kDelete, kIncrement, kDecrement };
inline constexpr size_t kModifications = static_cast<size_t>(Modification::kDecrement) + 1;

/// One condition on a column of the index's filter columns.
struct Filter {
  /// True: a row that does not meet the condition ends the scan; false: it is skipped.
  bool stops_scan = false;
  CompareOp op = CompareOp::kEq;
  uint32_t column = 0;  ///< Position among the filter columns of the opened index.
  Value value;
};

/// Finds rows of an index by key, and may change them.
struct Find {
  CompareOp op = CompareOp::kEq;  ///< The operator; never kNe.
  std::span<const Value> key;     ///< One value for each key part, from the first.
  /// The count that the client gave; larger than key.size() when it is over limits.
  uint32_t key_parts_given = 0;
  bool whole_key = false;  ///< Fails with kKpnum unless `key` has every part of a unique key.
  uint64_t limit = 1;      ///< The most rows, after filters and offset.
  uint64_t offset = 0;     ///< Rows that pass the filters and are left out.
  bool has_in = false;  ///< `key[in_part]` is replaced by each of `in_values`, one after another.
  uint32_t in_part = 0;
  std::span<const Value> in_values;
  std::span<const Filter> filters;  ///< All filters must hold; they are looked at in this order.
  Modification modification = Modification::kNone;
  /// Answer the rows as they were before the change, instead of the count.
  bool wants_before_images = false;
  /// New values or operands, by opened column; may be fewer.
  std::span<const Value> modifications;
};

/// One new row; columns that are not given get their DEFAULT.
struct Insert {
  std::span<const Value> values;  ///< By opened column; may be fewer or more than the columns.
};

/// What happens to the row that a RowEditor has seen.
enum class Decision : uint8_t {
  kKeep,    ///< The row stays as it is; an absent row stays absent.
  kStore,   ///< The listed columns are set; an absent row is inserted.
  kRenew,   ///< As if the row were deleted and inserted with the listed columns; an absent row is
            ///< inserted.
  kDelete,  ///< The row is deleted; an absent row stays absent.
  kClear,   ///< Like kDelete, but the row stays if its deletion could delete or change rows that
            ///< refer to it.
};

/// The new value of one of the opened columns.
struct CellChange {
  uint32_t column = 0;  ///< Position among the opened columns.
  Value value;
  /// There is no new value: the column stays as it is, and ON UPDATE does nothing.
  bool keeps = false;
  enum class Fit : uint8_t {
    kBytes,       ///< A text or binary column holds exactly these bytes, or the request fails.
    kAsInserted,  ///< CHAR and BINARY may pad the value, and a text may be trimmed, as in INSERT.
    /// The reply shows this value: whatever its type, the column holds exactly this number or text,
    /// or the request fails. FLOAT shows fewer digits than it holds, so that it fails.
    kTold,
  };
  Fit fit = Fit::kBytes;
};

/// Decides about one row while the engine has it locked. The engine may ask several times for one
/// request (the row was inserted meanwhile, the batch runs again); the last decision is carried
/// out, so each call overwrites all that an editor keeps.
class RowEditor {
 public:
  /// Says what is to happen to the row. `row`: the opened columns as a find sends them, valid
  /// during the call; empty: there is no such row. `*changes`, with kStore and kRenew: each column
  /// at most once.
  virtual Decision Decide(std::span<const Value> row, std::span<const CellChange>* changes) = 0;

 protected:
  ~RowEditor() = default;
};

/// Leaves every row as it is: the editor of a request until its own editor is made.
class RowKeeper final : public RowEditor {
 public:
  Decision Decide(std::span<const Value>, std::span<const CellChange>*) override {
    return Decision::kKeep;
  }
};
inline constinit RowKeeper row_keeper;

/// One row, by every part of a unique key, read, decided about and changed under one lock.
///
/// Values are converted as in a strict INSERT, and a text or binary column holds exactly the bytes
/// that were given, or the request fails: if the bytes for a text column are no UTF-8, or if CHAR
/// or BINARY would pad or trim the value (unless CellChange::fit allows it). Times are texts in the
/// server's time zone. A column with ON UPDATE that is listed keeps the value that it is given. A
/// row that is inserted or made anew has the key of the request, the listed columns, and DEFAULT
/// for the rest. Outcome::rows is 1 when the decision was kStore or kRenew, or when an existing row
/// was deleted. A row that is to be made anew and cannot be inserted may have been deleted; a row
/// that a foreign key keeps gets the listed columns set.
struct Edit {
  std::span<const Value> key;  ///< One value for each key part, for all of them; not NULL.
  /// What the editor may decide, by which the account's rights are judged; every decision reads the
  /// row. Columns are positions among the opened columns.
  bool may_insert = false;
  bool may_delete = false;
  std::span<const uint32_t> may_update;
  bool keeps_key = false;  ///< A change of a column of the index fails with kFld.
  /// The editor belongs to the caller, and lives for as long as the request may be run again; never
  /// null.
  RowEditor* editor = &row_keeper;
};

/// One statement to execute on one opened index.
struct Request {
  enum class Verb : uint8_t { kFind, kInsert, kEdit };
  Verb verb = Verb::kFind;
  Find find;
  Insert insert;
  Edit edit;
  /// The account by whose rights the request is judged; null: it may do everything. The sender of
  /// the request keeps the account until the request is answered.
  const Account* account = nullptr;
  /// The write need not be on disk when Commit returns, if that saves the engine work.
  bool relaxed = false;
  /// Other requests of the turn name the row, too: all of them may be executed on one copy of it
  /// (engine/session.h, S13).
  bool shares_row = false;

  bool is_write() const { return verb != Verb::kFind || find.modification != Modification::kNone; }
  /// Whether the request changes, or deletes, the rows that it finds.
  bool is_find_modify() const {
    return verb == Verb::kFind && find.modification != Modification::kNone;
  }
  /// The key by which the rows are found; none for an insert.
  std::span<const Value> key() const {
    if (verb == Verb::kInsert) return {};
    return verb == Verb::kEdit ? edit.key : find.key;
  }
  /// Whether this request is for the rows of one key by `=`, from the first on. With all parts of a
  /// unique key, that is one row at most, which only the engine knows.
  bool asks_by_one_key() const {
    if (verb != Verb::kFind) return verb == Verb::kEdit;
    return find.op == CompareOp::kEq && !find.has_in && find.offset == 0 && find.limit > 0 &&
           find.key_parts_given == find.key.size();
  }
};

}  // namespace rowsocket::model
