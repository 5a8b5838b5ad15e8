// Which requests of a batch name the same row: they are executed on one copy of the row.
//
// Two requests name the same row when they have the same Index and equal key texts, and each asks
// by one key (Request::asks_by_one_key). Texts that differ may name one row, too (`1` and `01`):
// they make separate SharedRows, which are executed one after the other. A find belongs to a row
// only directly after a request of its own connection that belongs to that row: elsewhere a find is
// a read like any other, which locks nothing.
//
// The requests of a row run as one statement, unless units or requests with a token write to the
// row, too: then each request that names the row runs at its own place in the turn, and shares the
// row by Request::shares_row, which Link sets.
//
// Flow: Link, then at(item.shared_row) and TurnItem::next_in_row, in the order of the turn.
// Threads: one owner.
// Lifetime: until the next Link; the items must stay where they are.
// Limits: keeps memory for as many rows as a batch has ever had, so that nothing is allocated in
// steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/session.h"
#include "exec/row_name.h"

namespace rowsocket::exec {

struct TurnItem;
struct Unit;

/// A row, and the items of the turn that name it.
struct SharedRow {
  static constexpr uint32_t kNone = UINT32_MAX;

  RowName name;
  uint64_t hash = 0;
  TurnItem* first = nullptr;
  TurnItem* last = nullptr;
  uint32_t plain_writes = 0;      ///< Writes that are one request without a token.
  uint32_t composite_writes = 0;  ///< Units, and requests with a token, that write to the row.
  /// The unit that was counted last: a unit counts once, however often it writes to the row.
  const Unit* last_unit = nullptr;
  /// Why no request of this row can be merged.
  engine::NotMergeable reason = engine::NotMergeable::kNone;

  /// Whether the row stays open while other statements run.
  bool stays_open() const { return composite_writes != 0 && composite_writes + plain_writes > 1; }
  /// Whether the requests of the row are executed one after another, as one change of it.
  bool runs_as_one_statement() const { return plain_writes > 1 && composite_writes == 0; }
};

/// Undoes what SharedRows::Link has set in the requests (Request::shares_row), so that each of the
/// items is executed by itself.
void KeepRowsApart(std::span<TurnItem> items);

class SharedRows {
 public:
  /// Finds out which items share a row. False when no row is written twice.
  bool Link(std::span<TurnItem> items);

  SharedRow& at(uint32_t row) { return rows_[row]; }
  const SharedRow& at(uint32_t row) const { return rows_[row]; }

 private:
  void CountUnit(const Unit& unit);
  /// Marks the requests whose row stays open. False when no row does.
  bool ShareRows(std::span<TurnItem> items);
  uint32_t FindOrAdd(const RowName& name);
  const SharedRow* Find(const RowName& name) const;
  void Grow(size_t items);

  std::vector<SharedRow> rows_;
  /// A slot of a hash table of positions in rows_. It is valid if its mark is mark_, which each
  /// Link changes, so that no Link has to clear the table.
  struct Slot {
    uint32_t mark = 0;
    uint32_t row = 0;
  };
  std::vector<Slot> slots_;
  uint32_t mark_ = 0;
};

}  // namespace rowsocket::exec
