// Tables of the in-memory engine: rows of text cells in the order of their primary key, and which
// of them a find is about.
//
// Threads: values and pure functions. Limits: none; for tables of a test, where looking at every
// row is quick enough.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/facts.h"
#include "engine/session.h"
#include "model/error.h"
#include "model/request.h"

namespace rowsocket::engine::fake {

using Cell = std::optional<std::string>;  ///< Without a value: NULL.
using Row = std::vector<Cell>;

/// Cell by cell: NULL, then integers by their value, then all other text by its bytes.
std::strong_ordering Compare(const Cell& a, const Cell& b);
struct RowLess {
  bool operator()(const Row& a, const Row& b) const;
};

using Rows = std::map<Row, Row, RowLess>;  ///< By primary key.
/// What a statement or a turn has done to a table; without a value: deleted.
using Changes = std::map<Row, std::optional<Row>, RowLess>;

struct IndexDefinition {
  std::string name;
  std::vector<uint32_t> columns;
};

struct TableDefinition {
  std::string name;  ///< As `db.table`.
  std::vector<std::string> columns;
  /// The first is the primary key. The others are not unique.
  std::vector<IndexDefinition> indexes;
  bool auto_increment = false;  ///< Of the primary key, which then has one column.
  bool permanent = false;       ///< What a statement did to it stands at once: no transactions.
  /// What Inspect says of a column; of one that is not here: bytes.
  std::map<std::string, ColumnFacts> facts = {};
  /// Why no row of it is merged; kNone: as requests and columns allow.
  NotMergeable not_mergeable = NotMergeable::kNone;
};

struct Table {
  const TableDefinition definition;
  std::shared_ptr<const Rows> rows;  ///< Committed; replaced as a whole: readers keep theirs.
  uint64_t next_id = 1;
};

Cell ToCell(const model::Value& value);
/// The cells of `row` at these positions.
Row Pick(const Row& row, const std::vector<uint32_t>& positions);
Row PrimaryKey(const TableDefinition& table, const Row& row);
IndexFacts FactsOf(const TableDefinition& table, const IndexDefinition& index,
                   const std::vector<uint32_t>& columns);
Rows Apply(const Rows& rows, const Changes& changes);

/// The rows that a find is about, after filters, offset and limit, in its order. `rows_passed`:
/// adds those that it looked at.
std::vector<Row> Matching(const Rows& rows, const IndexDefinition& index,
                          const std::vector<uint32_t>& filter_columns, const model::Find& find,
                          uint64_t* rows_passed = nullptr);

enum class Change : uint8_t { kChanged, kLeftAlone, kOutOfRange };
/// What U, + or - make of a row.
Change Modify(const model::Find& find, const std::vector<uint32_t>& columns, Row* row);

}  // namespace rowsocket::engine::fake
