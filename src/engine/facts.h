// What an opened index and its columns are, for those who must know before they store bytes in
// them.
//
// Flow: Session::Inspect fills an IndexFacts; the facts hold until somebody alters the table.
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rowsocket::engine {

struct ColumnFacts {
  enum class Kind : uint8_t {
    kBytes,        ///< VARBINARY, BLOB: every byte string that fits, as it is.
    kPaddedBytes,  ///< BINARY: filled up with zero bytes.
    kText,         ///< CHAR, VARCHAR, TEXT of any character set.
    kInteger,
    kDecimal,
    kFloat,
    kDateTime,
    kTimestamp,
    kOther,
  };
  Kind kind = Kind::kBytes;
  bool is_unsigned = false;
  bool is_nullable = false;
  bool is_generated = false;
  bool is_binary = true;  ///< kText: compares by code points, so that no two texts are equal...
  bool pads = false;      ///< ...but for blanks at their end, which do not count.
  bool updates_itself = false;  ///< ON UPDATE CURRENT_TIMESTAMP.
  bool is_in_key = false;       ///< Of any index of the table.
  uint32_t bytes = 8;           ///< kInteger: how wide it is.
  uint32_t decimals = 0;        ///< Digits behind the point, of seconds or of a number.
  std::string index;            ///< A B-tree index that begins with the column; empty: none.

  friend bool operator==(const ColumnFacts&, const ColumnFacts&) = default;
};

struct IndexFacts {
  bool is_unique = false;
  bool has_prefix = false;     ///< Some key part holds only the front of its column.
  bool is_ordered = false;     ///< It can be walked: not a hash, as UNIQUE over TEXT or BLOB is.
  bool is_referenced = false;  ///< By foreign keys, which may be the table's own.
  /// An update may change some key of the table by a column that it does not name: a generated one,
  /// or one with ON UPDATE.
  bool has_key_that_follows = false;
  std::vector<std::string> key_names;
  std::vector<ColumnFacts> key;
  std::vector<ColumnFacts> columns;  ///< In the order in which they were opened.

  friend bool operator==(const IndexFacts&, const IndexFacts&) = default;
};

}  // namespace rowsocket::engine
