// Reads a row that holds a string, in the store or in a container.
//
// Threads: an object has one; the functions are pure except for the clock.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "frontend/resp/numbers.h"
#include "frontend/resp/work.h"
#include "keyspace/row.h"
#include "keyspace/time.h"
#include "model/row_sink.h"

namespace rowsocket::frontend {

/// The columns of the store that commands on one string open; commands that need only its expiry do
/// not open the value.
enum StoredColumn : uint32_t { kValue, kExpires };

/// The time with which the expiry of the call's key is compared: tests can set the clock of mapped
/// keys ahead, but not that of the store.
inline int64_t ExpiryClockMs(const RespCall& call) {
  const bool is_mapped = call.container != nullptr || call.expiring_rows != nullptr;
  return is_mapped ? call.keyspaces->NowMs() : keyspace::WallClockMs();
}

/// When a command whose Expires is kAt lets the key expire. `now_ms`: when the command is executed,
/// which may be long after it was parsed, because it waits for locks in between.
inline int64_t ExpiryMsOf(const RespStringCommand& command, int64_t now_ms) {
  if (!command.is_relative) return command.at_ms;
  int64_t at_ms = 0;
  if (__builtin_add_overflow(command.in_ms, now_ms, &at_ms)) return keyspace::kNever - 1;
  return std::min(at_ms, keyspace::kNever - 1);
}

/// The moment in the store's column `expires`; keyspace::kNever for NULL.
inline int64_t MomentOf(const model::Value& expires) {
  int64_t at_ms = keyspace::kNever;
  if (!expires.is_null()) ParsePlainInteger(expires.text(), &at_ms);
  return at_ms;
}
/// Whether the store's column `expires` says that the row has expired.
inline bool IsExpired(const model::Value& expires) {
  return MomentOf(expires) <= keyspace::WallClockMs();
}

/// Takes the cells of one row.
class RespStringRow final : public model::RowSink {
 public:
  /// `text`: where the row's value is kept.
  RespStringRow(const RespCall& call, base::Buffer& text) : call_(call), text_(text) {
    text.Truncate(0);
    if (call.container == nullptr) {
      if (TraitsOf(call.verb).needs_expiry_alone()) at_ = kExpires;
      return;
    }
    const keyspace::Container& container = *call.container;
    const bool has_all = call.index == container.full_index.get();
    layout_ = has_all ? &container.full_layout : &container.get_layout;
  }

  bool Cell(std::string_view text) override { return Take(model::Value(text)); }
  bool NullCell() override { return Take(model::Value()); }
  /// Takes all cells of a row at once; no cells: there is no row.
  void TakeRow(std::span<const model::Value> row) {
    at_ = 0;
    has_row_ = is_another_ = false;
    value_ = {};
    for (const model::Value& cell : row) Take(cell);
  }

  bool has_row() const { return has_row_; }
  /// Whether the row is that of another key, which the collation takes for equal.
  bool is_another() const { return is_another_; }
  bool is_expired() const {
    return has_row_ && expires_ms_ != keyspace::kNever && expires_ms_ <= ExpiryClockMs(call_);
  }
  bool is_there() const { return has_row_ && !is_another_ && !is_expired(); }
  /// The value; valid until the next row.
  std::string_view value() const { return value_; }
  /// When the row expires; keyspace::kNever: never.
  int64_t expires_ms() const { return expires_ms_; }
  uint32_t flags() const { return flags_; }
  /// The row's cas; 0: the container has no column for it, or it was not read.
  uint64_t cas() const { return cas_; }

 private:
  bool Take(const model::Value& cell) {
    if (layout_ != nullptr) return TakeOfContainer(cell);
    has_row_ = true;
    if (at_++ == kValue)
      Keep(cell.is_null() ? std::string_view() : cell.text());
    else
      expires_ms_ = MomentOf(cell);
    return true;
  }
  bool TakeOfContainer(const model::Value& cell) {
    if (at_++ == 0) view_.emplace(*call_.container, call_.row_key, *layout_, text_).Begin();
    if (!view_->Take(cell)) return true;
    has_row_ = true;
    is_another_ = !view_->is_there();
    if (call_.container->values == 1)
      Keep(view_->value());
    else
      value_ = view_->value();
    expires_ms_ = view_->expiry_ms();
    flags_ = view_->flags();
    cas_ = layout_->cas != keyspace::Layout::kNone ? view_->cas() : 0;
    return true;
  }

  void Keep(std::string_view value) {
    text_.Truncate(0);
    text_.Append(value);
    value_ = text_.view();
  }

  const RespCall& call_;
  base::Buffer& text_;
  const keyspace::Layout* layout_ = nullptr;  ///< The container's columns; null: the store's row.
  std::optional<keyspace::RowView> view_;
  uint32_t at_ = 0;
  bool has_row_ = false;
  bool is_another_ = false;
  int64_t expires_ms_ = keyspace::kNever;
  uint32_t flags_ = 0;
  uint64_t cas_ = 0;
  std::string_view value_;  ///< A view of text_.
};

}  // namespace rowsocket::frontend
