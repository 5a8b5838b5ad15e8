// The requests that every layer talks about: what a protocol's parser produces, the executor
// orders and the engine session executes. Protocol-neutral.
//
// Lifetime: every span and Value is a view, see value.h.
// Limits: the spans never hold more than limits.h allows; `key_parts_given` may say more than the
// span holds, so that the engine can refuse a count without anybody having materialized it.
#pragma once

#include <cstdint>
#include <span>

#include "model/value.h"

namespace rowsocket::model {

enum class CompareOp : uint8_t { kEq, kGt, kGe, kLt, kLe, kNe };

enum class Modification : uint8_t { kNone, kUpdate, kDelete, kIncrement, kDecrement };

/// One condition on a column of the index's filter columns.
struct Filter {
  bool stops_scan = false;  ///< W: the first row that does not meet it ends the scan; else F: skip.
  CompareOp op = CompareOp::kEq;
  uint32_t column = 0;  ///< Position among the filter columns of the opened index.
  Value value;
};

/// Rows of an index by key, optionally changed on the way.
struct Find {
  CompareOp op = CompareOp::kEq;  ///< Never kNe.
  std::span<const Value> key;     ///< One value a key part, from the first.
  uint32_t key_parts_given = 0;   ///< As the client said; larger than key.size() when over limits.
  uint64_t limit = 1;             ///< Rows at most, after filters and offset.
  uint64_t offset = 0;            ///< Rows that pass the filters and are left out.
  bool has_in = false;            ///< `key[in_part]` is replaced by each of `in_values` in turn.
  uint32_t in_part = 0;
  std::span<const Value> in_values;
  std::span<const Filter> filters;  ///< ANDed, looked at in this order.
  Modification modification = Modification::kNone;
  bool wants_pre_images = false;        ///< Answer the rows as they were instead of the count.
  std::span<const Value> modifications;  ///< New values or operands, by opened column; may be fewer.
};

/// One new row; columns that are not given get their DEFAULT.
struct Insert {
  std::span<const Value> values;  ///< By opened column; may be fewer or more than the columns.
};

/// What is to be executed on one opened index.
struct Request {
  enum class Verb : uint8_t { kFind, kInsert };
  Verb verb = Verb::kFind;
  Find find;
  Insert insert;

  bool is_write() const {
    return verb == Verb::kInsert || find.modification != Modification::kNone;
  }
};

}  // namespace rowsocket::model
