// What the cells of a container's row mean: value, flags, cas and expiry of an item.
//
// Flow: one RowView a row; Take for each cell, in the order of the layout; then the accessors.
// Threads: one owner.
// Lifetime: `value` is a view of the cell, or of `joined` if the container has several value
// columns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "keyspace/codec.h"
#include "keyspace/row_key.h"
#include "keyspace/time.h"

namespace rowsocket::keyspace {

class RowView {
 public:
  /// `joined`: room for a value of several columns. `key`: the requested key. If the index may take
  /// different keys for equal, the row's own key is compared with it (is_there).
  RowView(const Container& container, const RowKey& key, const Layout& layout, base::Buffer& joined)
      : container_(container), key_(key), layout_(layout), joined_(joined) {}

  void Begin() {
    at_ = 0;
    is_there_ = true;
    expiry_ms_ = kNever;
    flags_ = 0;
    cas_ = 0;
  }

  /// Takes the next cell. True when it was the row's last: the view is then complete. A value of
  /// one column is valid as long as its cell.
  bool Take(const model::Value& cell) {
    const uint32_t at = at_++;
    if (at >= layout_.value) return TakeValue(cell, at - layout_.value);
    TakeOther(cell, at);
    return false;
  }

  /// False when the row's key only looks equal to the requested key.
  bool is_there() const { return is_there_; }
  bool is_expired(int64_t now_ms) const { return now_ms >= expiry_ms_; }
  bool may_expire() const { return expiry_ms_ != kNever; }
  int64_t expiry_ms() const { return expiry_ms_; }
  uint32_t flags() const { return flags_; }
  std::string_view value() const { return value_; }
  /// The item's cas, never 0. REQUIRES: if the container has a cas column, the layout has it.
  uint64_t cas() const {
    return container_.cas_kind == CasKind::kHash ? CasOfContent(flags_, value_) : cas_;
  }

 private:
  void TakeOther(const model::Value& cell, uint32_t at) {
    if (at == layout_.expiry) {
      expiry_ms_ = ExpiryFromCell(cell);
    } else if (at == layout_.flags) {
      uint64_t flags = 0;
      if (!cell.is_null()) ParseNumber(cell.text(), &flags);
      flags_ = static_cast<uint32_t>(flags);
    } else if (at == layout_.cas) {
      cas_ = CasFromCell(cell, container_.cas_kind);
    } else {
      // The index compared the numbers, and the column may show them in another form (ZEROFILL).
      if (container_.key[at - layout_.key].is_integer) return;
      const model::Value& wanted = key_.columns[at - layout_.key];
      if (cell.is_null() || cell.text() != wanted.text()) is_there_ = false;
    }
  }

  bool TakeValue(const model::Value& cell, uint32_t number) {
    if (container_.values == 1) {
      value_ = cell.text();  // NULL reads as the empty value.
      return true;
    }
    if (number == 0)
      joined_.Truncate(0);
    else
      joined_.Append(container_.separator);
    AppendColumn(cell, container_.separator, joined_);
    value_ = joined_.view();
    return number + 1 == container_.values;
  }

  const Container& container_;
  const RowKey& key_;
  const Layout& layout_;
  base::Buffer& joined_;
  uint32_t at_ = 0;
  bool is_there_ = true;
  int64_t expiry_ms_ = kNever;
  uint32_t flags_ = 0;
  uint64_t cas_ = 0;
  std::string_view value_;
};

}  // namespace rowsocket::keyspace
