#include "engine/server/partition_merge.h"

#include <algorithm>
#include <cstring>

namespace rowsocket::engine::server {

namespace {

/// In a partitioned table, a row's position begins with this many bytes, which name the partition.
constexpr uint kPartitionBytes = 2;

bool IsEnd(int error) { return error == HA_ERR_KEY_NOT_FOUND || error == HA_ERR_END_OF_FILE; }

/// Compares two key images. NULL is before everything.
int CompareImages(const KEY& key, const uchar* left, const uchar* right) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    int order = 0;
    if (part.null_bit != 0 && (*left != 0 || *right != 0)) {
      order = static_cast<int>(*right) - static_cast<int>(*left);
    } else {
      const uint null_bytes = part.null_bit != 0 ? 1 : 0;
      order = part.field->key_cmp(left + null_bytes, right + null_bytes);
    }
    if (order != 0) return (part.key_part_flag & HA_REVERSE_SORT) != 0 ? -order : order;
    left += part.store_length;
    right += part.store_length;
  }
  return 0;
}

}  // namespace

void PartitionMerge::Begin(TABLE* table, uint key, bool descending) {
  table_ = table;
  keys_[0] = &table->key_info[key];
  const uint primary = table->s->primary_key;
  keys_[1] = IsClustered(*table, primary) ? &table->key_info[primary] : nullptr;
  descending_ = descending;
  heap_.clear();
}

handler* PartitionMerge::Child(uint partition) const {
  return static_cast<ha_partition*>(table_->file)->get_child_handlers()[partition];
}

void PartitionMerge::Fill(Candidate* candidate) {
  uchar* const record = table_->record[0];
  candidate->row.assign(record, record + table_->s->reclength);
  size_t bytes = 0;
  for (const KEY* key : keys_) bytes += key != nullptr ? key->key_length : 0;
  candidate->key.resize(bytes);
  uchar* to = candidate->key.data();
  for (const KEY* key : keys_) {
    if (key == nullptr) continue;
    key_copy(to, record, key, key->key_length);
    to += key->key_length;
  }
}

int PartitionMerge::First(const uchar* key_image, key_part_map key_map, ha_rkey_function flag) {
  heap_.clear();
  uchar* const record = table_->record[0];
  const MY_BITMAP& partitions = table_->part_info->read_partitions;
  for (uint i = bitmap_get_first_set(&partitions); i < partitions.n_bits;
       i = bitmap_get_next_set(&partitions, i)) {
    handler* const child = Child(i);
    const int error = key_map != 0  ? child->ha_index_read_map(record, key_image, key_map, flag)
                      : descending_ ? child->ha_index_last(record)
                                    : child->ha_index_first(record);
    if (IsEnd(error)) continue;
    if (error != 0) return error;
    heap_.emplace_back().partition = i;
    Fill(&heap_.back());
  }
  std::make_heap(heap_.begin(), heap_.end(),
                 [this](const auto& left, const auto& right) { return ComesAfter(left, right); });
  return Show();
}

int PartitionMerge::Next() {
  if (heap_.empty()) return HA_ERR_END_OF_FILE;
  const auto comes_after = [this](const auto& left, const auto& right) {
    return ComesAfter(left, right);
  };
  std::pop_heap(heap_.begin(), heap_.end(), comes_after);
  handler* const child = Child(heap_.back().partition);
  const int error = descending_ ? child->ha_index_prev(table_->record[0])
                                : child->ha_index_next(table_->record[0]);
  if (error != 0 && !IsEnd(error)) return error;
  if (error != 0) {
    heap_.pop_back();
  } else {
    Fill(&heap_.back());
    std::push_heap(heap_.begin(), heap_.end(), comes_after);
  }
  return Show();
}

// Shows the row in record[0]. A virtual BLOB column, which has room for one text only, is computed
// anew, because rows of other partitions have overwritten it.
int PartitionMerge::Show() {
  if (heap_.empty()) return HA_ERR_END_OF_FILE;
  const Candidate& first = heap_.front();
  memcpy(table_->record[0], first.row.data(), first.row.size());
  if (HasGenerated(*table_) && table_->s->blob_fields != 0) {
    table_->update_virtual_fields(Child(first.partition), VCOL_UPDATE_FOR_READ);
  }
  table_->status = 0;
  return 0;
}

void PartitionMerge::StorePosition() {
  handler* const file = table_->file;
  handler* const child = Child(heap_.front().partition);
  child->position(table_->record[0]);
  memset(file->ref, 0, file->ref_length);
  int2store(file->ref, heap_.front().partition);
  memcpy(file->ref + kPartitionBytes, child->ref, child->ref_length);
}

int PartitionMerge::Compare(const Candidate& left, const Candidate& right) const {
  const uchar* of_left = left.key.data();
  const uchar* of_right = right.key.data();
  for (const KEY* key : keys_) {
    if (key == nullptr) continue;
    const int order = CompareImages(*key, of_left, of_right);
    if (order != 0) return order;
    of_left += key->key_length;
    of_right += key->key_length;
  }
  return left.partition < right.partition ? -1 : left.partition > right.partition ? 1 : 0;
}

}  // namespace rowsocket::engine::server
