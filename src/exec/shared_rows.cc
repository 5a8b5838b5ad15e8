#include "exec/shared_rows.h"

#include <algorithm>
#include <bit>

#include "exec/row_name.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

/// Whether the item may share its row. A find that has a detail of its frontend may be several
/// requests.
bool MayJoin(const TurnItem& item) {
  return item.item.kind == Item::Kind::kRequest && !item.item.is_composite &&
         item.item.row_name().is_row() && (item.is_write() || item.item.detail == nullptr);
}

bool IsWritingUnit(const TurnItem& item) {
  return item.item.kind == Item::Kind::kRequest && item.item.unit != nullptr &&
         item.item.unit->writes;
}

}  // namespace

void KeepRowsApart(std::span<TurnItem> items) {
  for (TurnItem& item : items) {
    item.item.request.shares_row = false;
    if (item.item.unit == nullptr) continue;
    for (UnitRequest& one : item.item.unit->requests) one.request.shares_row = false;
  }
}

bool SharedRows::Link(std::span<TurnItem> items) {
  bool any_shared = false;
  bool any_composite = false;
  rows_.clear();
  KeepRowsApart(items);
  size_t names = items.size();
  for (const TurnItem& item : items) {
    if (item.item.unit != nullptr) names += item.item.unit->requests.size();
  }
  Grow(names);
  const TurnItem* previous = nullptr;
  for (TurnItem& item : items) {
    item.shared_row = SharedRow::kNone;
    item.next_in_row = nullptr;
    if (IsWritingUnit(item)) CountUnit(*item.item.unit);
    if (item.is_write_with_token()) ++rows_[FindOrAdd(item.item.row_name())].composite_writes;
    any_composite = any_composite || IsWritingUnit(item) || item.is_write_with_token();
    if (MayJoin(item)) {
      const bool follows_previous = previous != nullptr && previous->client == item.client &&
                                    previous->shared_row != SharedRow::kNone &&
                                    previous->item.row_name() == item.item.row_name();
      if (follows_previous)
        item.shared_row = previous->shared_row;
      else if (item.item.request.is_write())
        item.shared_row = FindOrAdd(item.item.row_name());
    }
    previous = &item;
    if (item.shared_row == SharedRow::kNone) continue;
    SharedRow& row = rows_[item.shared_row];
    if (row.first == nullptr)
      row.first = &item;
    else
      row.last->next_in_row = &item;
    row.last = &item;
    row.plain_writes += item.is_write();
    any_shared = any_shared || row.plain_writes > 1;
  }
  const bool any_open = any_composite && ShareRows(items);
  return any_shared || any_open;
}

void SharedRows::CountUnit(const Unit& unit) {
  for (const UnitRequest& one : unit.requests) {
    const RowName name(*one.index, one.request);
    if (!one.request.is_write() || !name.is_row()) continue;
    SharedRow& row = rows_[FindOrAdd(name)];
    row.composite_writes += row.last_unit != &unit;
    row.last_unit = &unit;
  }
}

bool SharedRows::ShareRows(std::span<TurnItem> items) {
  if (std::ranges::none_of(rows_, &SharedRow::stays_open)) return false;
  for (TurnItem& item : items) {
    if (item.shared_row != SharedRow::kNone)
      item.item.request.shares_row = rows_[item.shared_row].stays_open();
    if (item.is_write_with_token())
      item.item.request.shares_row = Find(item.item.row_name())->stays_open();
    if (!IsWritingUnit(item)) continue;
    for (UnitRequest& one : item.item.unit->requests) {
      const RowName name(*one.index, one.request);
      const SharedRow* const row = name.is_row() ? Find(name) : nullptr;
      one.request.shares_row = row != nullptr && row->stays_open();
    }
  }
  return true;
}

const SharedRow* SharedRows::Find(const RowName& name) const {
  const uint64_t hash = name.Hash();
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.mark != mark_) return nullptr;
    const SharedRow& row = rows_[slot.row];
    if (row.hash == hash && row.name == name) return &row;
  }
}

uint32_t SharedRows::FindOrAdd(const RowName& name) {
  const uint64_t hash = name.Hash();
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Slot& slot = slots_[i];
    if (slot.mark != mark_) {
      slot = {mark_, static_cast<uint32_t>(rows_.size())};
      rows_.push_back({name, hash});
      return slot.row;
    }
    const SharedRow& row = rows_[slot.row];
    if (row.hash == hash && row.name == name) return slot.row;
  }
}

// Grows the table so that at least half of its slots stay free.
void SharedRows::Grow(size_t items) {
  const size_t slots = std::bit_ceil(2 * items + 1);
  if (slots_.size() < slots) slots_.assign(slots, {});
  if (++mark_ == 0) {
    slots_.assign(slots_.size(), {});
    mark_ = 1;
  }
}

}  // namespace rowsocket::exec
