// Walks an index by the key of a request: five operators, any number of leading key parts.
//
// If every value fits its column, the storage engine's own search is enough. If a value does
// not fit (300 for a TINYINT, a text longer than the index prefix, any FLOAT), the search starts at
// or before the first row that can qualify and every row is compared with the values themselves.
//
// Flow: Prepare, then First and Next until they return anything but 0. The row is in record[0].
// Threads: the session's.
// Errors: the handler's HA_ERR_ numbers.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "api.h"
#include "engine/server/comparison_value.h"
#include "engine/server/index.h"
#include "engine/server/partition_merge.h"
#include "model/error.h"
#include "model/limits.h"
#include "model/request.h"

namespace rowsocket::engine::server {

class KeyScan {
 public:
  /// Prepares to find the rows by this key. REQUIRES: for writes, the handler of the instance is
  /// initialized for the index (First does that for reads); `key` has a value, unless `op` is one
  /// of the ranges, which then begins at the index's end. More values than key parts: kKpnum.
  model::ErrorCode Prepare(THD* thd, OpenTable& open, IndexState& index, model::CompareOp op,
                           std::span<const model::Value> key);

  int First();
  int Next();

  /// Whether at most one row can come: `=` with all parts of a unique key.
  bool is_single_row() const { return single_row_; }
  /// Whether rows are merged from partitions: the handler then does not know which row was read
  /// last, and a row can be changed only through its position.
  bool merges_partitions() const { return merges_; }
  /// Puts the position of the row in record[0] into handler::ref.
  void StorePosition();

 private:
  struct Part {
    Field* field = nullptr;
    bool reversed = false;
    bool is_prefix = false;
    ComparisonValue value;
  };

  bool PrepareSimple(std::span<const model::Value> key);
  bool IsSingleRow() const;
  ha_rkey_function FlagOfEqual() const;
  bool PrepareParts(std::span<const model::Value> key);
  /// Whether a value has characters that its column's character set lacks. REQUIRES: PrepareParts.
  bool HasForeignCharacters() const;
  /// False when a column cannot hold the value of its part. REQUIRES: PrepareParts.
  bool CanBeEqual();
  void PrepareEqual();
  /// Appends what the key of a current row ends with in a system-versioned table, where the image
  /// has all other parts of a unique key.
  void AppendRowEnd();
  void PrepareRange();
  bool MakeKey(uint parts);
  model::ErrorCode PrepareHash(const KeyParts& parts, std::span<const model::Value> key);

  int Advance();
  int SkipUnqualified(int error);
  /// Whether no row after this one, which differs in `part`, can be equal.
  bool IsPast(int order, uint part) const;
  /// How the row compares with the key; `*part`: the first part that is not equal.
  int CompareRow(uint* part);
  bool Qualifies(int order) const;

  THD* thd_ = nullptr;
  OpenTable* open_ = nullptr;
  IndexState* index_ = nullptr;
  TABLE* table_ = nullptr;
  handler* file_ = nullptr;
  KEY* key_ = nullptr;
  model::CompareOp op_ = model::CompareOp::kEq;

  std::array<Part, model::kKeyPartsMax> parts_;  ///< The first parts_count_ are in use.
  uint parts_count_ = 0;
  bool nothing_ = false;      ///< No row can qualify.
  bool checks_rows_ = false;  ///< The search alone does not decide.
  /// `=` by a range: a row that is past one of the first stop_parts_ parts ends the search. A part
  /// after a FLOAT cannot end it, because several values of a FLOAT count as equal, across which
  /// later parts are not in order.
  uint stop_parts_ = 0;
  bool same_key_ = false;  ///< Next asks for the next row with this key image.
  bool single_row_ = false;
  bool merges_ = false;  ///< Rows come through merge_.
  bool descending_ = false;
  ha_rkey_function flag_ = HA_READ_KEY_EXACT;
  key_part_map key_map_ = 0;
  uint key_length_ = 0;
  PartitionMerge merge_;
  std::vector<uchar> key_image_;  ///< The key as SimpleKey or MakeKey has written it.
};

}  // namespace rowsocket::engine::server
