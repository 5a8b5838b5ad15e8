// Facts about an opened index and its columns, for frontends that must know them before they store
// bytes in the columns.
//
// Flow: Session::Inspect fills an IndexFacts; the facts hold until the table is altered.
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rowsocket::engine {

struct ColumnFacts {
  enum class Kind : uint8_t {
    kBytes,        ///< VARBINARY, BLOB: any byte string that fits is kept as it is.
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
  bool is_binary = true;  ///< kText: compared by code points, so that different texts are never
                          ///< equal, apart from blanks (`pads`).
  bool pads = false;      ///< kText: blanks at the end of a text do not count when it is compared.
  bool updates_itself = false;   ///< The column has ON UPDATE CURRENT_TIMESTAMP.
  bool is_in_key = false;        ///< The column is in some index of the table.
  uint32_t bytes = 8;            ///< kInteger: the width of the column.
  uint32_t zerofill_digits = 0;  ///< ZEROFILL: digits that a number is filled up to; 0: no
                                 ///< ZEROFILL.
  uint32_t decimals = 0;         ///< Digits after the point, of seconds or of a number.
  std::string index;             ///< A B-tree index that begins with the column; empty: none.

  friend bool operator==(const ColumnFacts&, const ColumnFacts&) = default;
};

struct IndexFacts {
  bool is_unique = false;
  bool has_prefix = false;  ///< Some key part holds only a prefix of its column.
  /// The index can be walked: it is not a hash, as UNIQUE over TEXT or BLOB is.
  bool is_ordered = false;
  bool is_referenced = false;  ///< Foreign keys refer to the table, perhaps the table's own.
  /// An update may change some key of the table through a column that the update does not name: a
  /// generated column, or a column with ON UPDATE.
  bool has_key_that_follows = false;
  std::vector<std::string> key_names;
  std::vector<ColumnFacts> key;
  std::vector<ColumnFacts> columns;  ///< The columns in the order in which they were opened.

  friend bool operator==(const IndexFacts&, const IndexFacts&) = default;
};

}  // namespace rowsocket::engine
