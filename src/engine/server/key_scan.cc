#include "engine/server/key_scan.h"

#include <algorithm>

#include "base/require.h"

namespace rowsocket::engine::server {

using model::CompareOp;
using model::ErrorCode;

namespace {

/// The flag that finds the first row of a range if the search alone decides.
ha_rkey_function FlagOf(CompareOp op) {
  switch (op) {
    case CompareOp::kGt:
      return HA_READ_AFTER_KEY;
    case CompareOp::kGe:
      return HA_READ_KEY_OR_NEXT;
    case CompareOp::kLt:
      return HA_READ_BEFORE_KEY;
    case CompareOp::kLe:
    case CompareOp::kEq:
      return HA_READ_PREFIX_LAST_OR_PREV;
    case CompareOp::kNe:
      break;
  }
  ROWSOCKET_REQUIRE(!"no index is searched by !=");
  return HA_READ_PREFIX_LAST_OR_PREV;
}

/// Whether the index pads a column with blanks that its collation does not ignore: CHAR, whose
/// collation may tell '' from ' '.
bool IsPaddedButNotCompared(const Field* field) {
  return field->real_type() == MYSQL_TYPE_STRING && ComparesBlanks(*field->charset()) &&
         field->charset() != &my_charset_bin;
}

/// Whether the index orders the column's texts with their padding and finds compare them without
/// it, or the other way round: a text may then have another place in the index than in its order.
bool IsMisplacedByPadding(const THD& thd, const Field* field) {
  return IsPaddedButNotCompared(field) &&
         (kIndexHasPadding || (thd.variables.sql_mode & MODE_PAD_CHAR_TO_FULL_LENGTH) != 0);
}

/// Whether a text sorts as its first characters do. It need not in collations of several levels
/// ('A' < 'Ä', and 'AB' > 'Ä'), or if a character may stand for several ('ä' = 'ae').
bool SortsByItsFront(const Field* field) {
  const CHARSET_INFO* charset = field->charset();
  if (!ComparesAsText(*field)) return true;
  // The index may take a blank at the end of a prefix for padding: 'ab' with a TAB then sorts after
  // the prefix 'ab ', and before 'ab c'.
  if (IsPaddedButNotCompared(field)) return false;
  return (charset->state & MY_CS_BINSORT) ||
         (charset->uca == nullptr && LevelsOf(*charset) <= 1 && charset->strxfrm_multiply <= 1);
}

}  // namespace

ErrorCode KeyScan::Prepare(THD* thd, OpenTable& open, IndexState& index, CompareOp op,
                           std::span<const model::Value> key) {
  thd_ = thd;
  open_ = &open;
  index_ = &index;
  table_ = open.table;
  file_ = table_->file;
  key_ = &table_->key_info[index.key()];
  op_ = op;
  nothing_ = checks_rows_ = same_key_ = single_row_ = merges_ = false;
  stop_parts_ = 0;
  descending_ = op == CompareOp::kLt || op == CompareOp::kLe;
  parts_count_ = static_cast<uint>(key.size());
  if (PrepareSimple(key)) [[likely]]
    return ErrorCode::kNone;
  const KeyParts user_parts = UserKeyParts(*key_);
  if (parts_count_ > user_parts.count) return ErrorCode::kKpnum;
  for (uint i = 0; i < parts_count_; ++i) {
    const KEY_PART_INFO& part = user_parts.first[i];
    parts_[i].field = table_->field[part.fieldnr - 1];
    parts_[i].reversed = (part.key_part_flag & HA_REVERSE_SORT) != 0;
    parts_[i].is_prefix = (part.key_part_flag & HA_PART_KEY_SEG) != 0;
  }
  if (user_parts.is_hash) return PrepareHash(user_parts, key);
  if (!index.CanAnswer(op, parts_count_)) return ErrorCode::kIndexop;
  nothing_ = !PrepareParts(key);
  if (op != CompareOp::kEq && HasForeignCharacters()) return ErrorCode::kCharset;
  if (nothing_) return ErrorCode::kNone;
  if (op == CompareOp::kEq) {
    PrepareEqual();
  } else {
    PrepareRange();
  }
  merges_ = index.merges_partitions() && !single_row_;
  if (merges_) merge_.Begin(table_, index.key(), descending_);
  return ErrorCode::kNone;
}

// Prepares a key whose values are in their columns' ranges, so that the search alone decides. Not
// for partitions, which for `>` and `<` also give rows equal to the key.
bool KeyScan::PrepareSimple(std::span<const model::Value> key) {
  if (op_ != CompareOp::kEq && IsPartitioned(*table_)) return false;
  if (index_->merges_partitions()) return false;
  key_image_.resize(SimpleKey::kBytesMax);
  key_length_ = index_->simple_key().Write(key, key_image_.data());
  if (key_length_ == 0 || !index_->CanAnswer(op_, parts_count_)) return false;
  key_map_ = make_prev_keypart_map(parts_count_);
  if (op_ == CompareOp::kEq) {
    same_key_ = true;
    single_row_ = IsSingleRow();
    AppendRowEnd();
    flag_ = FlagOfEqual();
  } else {
    flag_ = FlagOf(op_);
  }
  return true;
}

bool KeyScan::IsSingleRow() const {
  return parts_count_ == UserKeyParts(*key_).count &&
         (key_->flags & (HA_NOSAME | HA_NULL_PART_KEY)) == HA_NOSAME;
}

// A write locks the row that it finds, so that it may use the exact search in all servers.
ha_rkey_function KeyScan::FlagOfEqual() const {
  return single_row_ && open_->access == Access::kRead ? kSingleRowSearch : HA_READ_KEY_EXACT;
}

// Stores the values in their columns. For prefix parts and FLOATs the key image alone never
// decides.
bool KeyScan::PrepareParts(std::span<const model::Value> key) {
  for (uint i = parts_count_; i < std::size(parts_); ++i) parts_[i].value.Shrink();
  bool stored = true;
  for (uint i = 0; i < parts_count_; ++i) {
    Part& part = parts_[i];
    part.value.Prepare(thd_, part.field, key[i]);
    stored = part.value.StoreInto(part.field) && stored;
  }
  return stored;
}

bool KeyScan::HasForeignCharacters() const {
  return std::any_of(parts_.begin(), parts_.begin() + parts_count_,
                     [](const Part& part) { return part.value.has_foreign_characters(); });
}

bool KeyScan::CanBeEqual() {
  return std::all_of(parts_.begin(), parts_.begin() + parts_count_, [](Part& part) {
    if (part.value.is_float()) return !part.value.never_equal();
    return part.is_prefix || part.value.Holds(part.field, CompareOp::kEq);
  });
}

void KeyScan::PrepareEqual() {
  if (!CanBeEqual()) {
    nothing_ = true;
    return;
  }
  for (uint i = 0; i < parts_count_; ++i) {
    Part& part = parts_[i];
    checks_rows_ = checks_rows_ || part.is_prefix || part.value.is_float();
    // By a hash index only the nearest value is found, as in SQL.
    if (!part.value.is_float() || !index_->CanAnswer(CompareOp::kGe, parts_count_)) continue;
    // The search goes through all values that show the same text: a short range, checked row by
    // row.
    part.value.StoreFloatBound(part.field, /*upper=*/part.reversed);
    stop_parts_ = i + 1;
    flag_ = HA_READ_KEY_OR_NEXT;
    nothing_ = !MakeKey(i + 1);
    return;
  }
  single_row_ = IsSingleRow();
  if (index_->merges_partitions() && !single_row_) {
    checks_rows_ = true;
    stop_parts_ = parts_count_;
    flag_ = HA_READ_KEY_OR_NEXT;
  } else {
    flag_ = FlagOfEqual();
    same_key_ = true;
  }
  nothing_ = !MakeKey(parts_count_);
  if (same_key_) AppendRowEnd();
}

// A search by the whole key does not pass through the past of the row.
void KeyScan::AppendRowEnd() {
  if (!IsSystemVersioned(*table_) || !EndsWithRowEnd(*key_)) return;
  if (parts_count_ != UserKeyParts(*key_).count) return;
  SetRowEndOfCurrent(*table_);
  const KEY_PART_INFO& part = key_->key_part[parts_count_];
  key_image_.resize(key_length_ + part.store_length);
  part.field->get_key_image(key_image_.data() + key_length_, part.length, Field::itRAW);
  key_length_ += part.store_length;
  key_map_ = make_prev_keypart_map(parts_count_ + 1);
}

void KeyScan::PrepareRange() {
  uint usable = parts_count_;
  for (uint i = 0; i < parts_count_; ++i) {
    Part& part = parts_[i];
    const bool is_exact = !part.is_prefix && !part.value.is_float() &&
                          !IsMisplacedByPadding(*thd_, part.field) &&
                          part.value.Compare(part.field) == 0;
    if (is_exact) continue;
    if (part.value.is_float()) {
      part.value.StoreFloatBound(part.field, /*upper=*/descending_ != part.reversed);
    }
    // After a part that is stored only near its value, the other parts say nothing about the
    // position; nor does the part itself if its text may sort far from its first characters.
    usable = SortsByItsFront(part.field) && part.value.StoredNear(part.field) ? i + 1 : i;
    checks_rows_ = true;
    break;
  }
  // Partitions also give rows equal to the key for "after" and "before".
  if (IsPartitioned(*table_)) checks_rows_ = true;
  if (checks_rows_) {
    flag_ = descending_ ? HA_READ_PREFIX_LAST_OR_PREV : HA_READ_KEY_OR_NEXT;
  } else {
    flag_ = FlagOf(op_);
  }
  nothing_ = !MakeKey(usable);
}

bool KeyScan::MakeKey(uint parts) {
  key_length_ = 0;
  for (uint i = 0; i < parts; ++i) key_length_ += key_->key_part[i].store_length;
  key_map_ = make_prev_keypart_map(parts);
  if (parts == 0) return true;  // Asked for 0 bytes, key_copy() would copy the whole key.
  key_image_.resize(key_length_);
  key_copy(key_image_.data(), table_->record[0], key_, key_length_);
  return true;
}

// UNIQUE over TEXT or BLOB: the index holds a hash over all columns, so that all of them must be
// given. Rows with the same hash are compared with the values.
ErrorCode KeyScan::PrepareHash(const KeyParts& parts, std::span<const model::Value> key) {
  if (op_ != CompareOp::kEq || key.size() != parts.count) return ErrorCode::kIndexop;
  if (!PrepareParts(key) || !CanBeEqual()) {
    nothing_ = true;
    return ErrorCode::kNone;
  }
  checks_rows_ = true;
  same_key_ = true;
  flag_ = HA_READ_KEY_EXACT;
  StoreHash(thd_, table_, *key_);
  nothing_ = !MakeKey(1);
  return ErrorCode::kNone;
}

void KeyScan::StorePosition() {
  if (merges_)
    merge_.StorePosition();
  else
    file_->position(table_->record[0]);
}

int KeyScan::First() {
  if (nothing_) return HA_ERR_KEY_NOT_FOUND;
  if (open_->access == Access::kRead) {
    const int error = index_->PrepareToRead(*open_, checks_rows_);
    if (error != 0) return error;
  }
  if (merges_) return SkipUnqualified(merge_.First(key_image_.data(), key_map_, flag_));
  if (key_map_ == 0) {
    return SkipUnqualified(descending_ ? file_->ha_index_last(table_->record[0])
                                       : file_->ha_index_first(table_->record[0]));
  }
  return SkipUnqualified(
      file_->ha_index_read_map(table_->record[0], key_image_.data(), key_map_, flag_));
}

int KeyScan::Next() {
  if (single_row_) return HA_ERR_END_OF_FILE;
  return SkipUnqualified(Advance());
}

int KeyScan::Advance() {
  if (IsKilled(*thd_)) return kInterrupted;
  if (merges_) return merge_.Next();
  if (same_key_) {
    return file_->ha_index_next_same(table_->record[0], key_image_.data(), key_length_);
  }
  return descending_ ? file_->ha_index_prev(table_->record[0])
                     : file_->ha_index_next(table_->record[0]);
}

int KeyScan::SkipUnqualified(int error) {
  const bool versioned = IsSystemVersioned(*table_);
  while (error == 0) {
    const bool is_history = versioned && IsHistoricalRow(*table_);
    if (!is_history) {
      if (!checks_rows_) return 0;
      uint part = 0;
      const int order = CompareRow(&part);
      if (Qualifies(order)) return 0;
      if (part < stop_parts_ && IsPast(order, part)) return HA_ERR_END_OF_FILE;
    }
    error = Advance();
  }
  return error;
}

// The part of a value that a prefix leaves out has no order in the index; the prefix itself has.
bool KeyScan::IsPast(int order, uint part) const {
  if (!parts_[part].is_prefix) return order > 0;
  uint length = 0;
  for (uint i = 0; i <= part; ++i) length += key_->key_part[i].store_length;
  return key_cmp_if_same(table_, key_image_.data(), index_->key(), length);
}

int KeyScan::CompareRow(uint* part) {
  for (*part = 0; *part < parts_count_; ++*part) {
    Part& compared = parts_[*part];
    const int order = compared.value.Compare(compared.field);
    if (order != 0) return compared.reversed ? -order : order;
  }
  return 0;
}

bool KeyScan::Qualifies(int order) const {
  switch (op_) {
    case CompareOp::kEq:
      return order == 0;
    case CompareOp::kGt:
      return order > 0;
    case CompareOp::kGe:
      return order >= 0;
    case CompareOp::kLt:
      return order < 0;
    case CompareOp::kLe:
      return order <= 0;
    case CompareOp::kNe:
      break;
  }
  ROWSOCKET_REQUIRE(!"no index is searched by !=");
  return false;
}

}  // namespace rowsocket::engine::server
