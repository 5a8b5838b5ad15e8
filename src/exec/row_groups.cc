#include "exec/row_groups.h"

#include <bit>

#include "exec/row_name.h"
#include "exec/turn.h"

namespace rowsocket::exec {

namespace {

// A find with details of its frontend may be several requests.
bool MayJoin(const TurnItem& item) {
  return item.item.kind == Item::Kind::kRequest && !item.item.stands_alone &&
         item.item.row().is_row() && (item.is_write() || item.item.detail == nullptr);
}

}  // namespace

bool RowGroups::Link(std::span<TurnItem> items) {
  bool any_shared = false;
  rows_.clear();
  Grow(items.size());
  const TurnItem* previous = nullptr;
  for (TurnItem& item : items) {
    item.row = RowGroup::kNone;
    item.next_in_row = nullptr;
    if (item.is_write_alone()) item.ran_alone = RanAlone::kToken;
    if (MayJoin(item)) {
      const bool is_behind = previous != nullptr && previous->client == item.client &&
                             previous->row != RowGroup::kNone &&
                             previous->item.row() == item.item.row();
      if (is_behind)
        item.row = previous->row;
      else if (item.item.request.is_write())
        item.row = FindOrAdd(item);
    }
    previous = &item;
    if (item.row == RowGroup::kNone) continue;
    RowGroup& row = rows_[item.row];
    if (row.first != &item) row.last->next_in_row = &item;
    row.last = &item;
    row.writes += item.is_write();
    any_shared = any_shared || row.writes > 1;
  }
  return any_shared;
}

uint32_t RowGroups::FindOrAdd(TurnItem& item) {
  const RowName name = item.item.row();
  const uint64_t hash = name.Hash();
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Slot& slot = slots_[i];
    if (slot.mark != mark_) {
      slot = {mark_, static_cast<uint32_t>(rows_.size())};
      rows_.push_back({&item, &item, hash});
      return slot.row;
    }
    const RowGroup& row = rows_[slot.row];
    if (row.hash == hash && row.first->item.row() == name) return slot.row;
  }
}

// Keeps at least half of the slots free.
void RowGroups::Grow(size_t items) {
  const size_t slots = std::bit_ceil(2 * items + 1);
  if (slots_.size() < slots) slots_.assign(slots, {});
  if (++mark_ == 0) {
    slots_.assign(slots_.size(), {});
    mark_ = 1;
  }
}

}  // namespace rowsocket::exec
