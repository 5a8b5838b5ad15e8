// Tables of the in-memory engine: rows of text cells in the order of their primary key, and the
// rows that a find matches.
//
// Threads: values and pure functions.
// Limits: none; a find looks at every row, which is quick enough for the tables of a test.
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

using Cell = std::optional<std::string>;  ///< Without a value, the cell is NULL.
using Row = std::vector<Cell>;

/// Compares cell by cell: NULL, then integers by their value, then all other texts by their bytes.
std::strong_ordering Compare(const Cell& a, const Cell& b);
struct RowLess {
  bool operator()(const Row& a, const Row& b) const;
};

using Rows = std::map<Row, Row, RowLess>;  ///< Rows by their primary key.
/// The changes of a statement or a turn to a table; without a value the row is deleted.
using Changes = std::map<Row, std::optional<Row>, RowLess>;

struct IndexDefinition {
  std::string name;
  std::vector<uint32_t> columns;
  // The facts that Inspect gives; rows are found, and may have equal keys, whatever these say.
  bool is_unique = false;
  bool has_prefix = false;
};

struct TableDefinition {
  std::string name;  ///< The name as `db.table`.
  std::vector<std::string> columns;
  /// The first is the primary key.
  std::vector<IndexDefinition> indexes;
  bool auto_increment = false;  ///< The primary key, which then has one column, is AUTO_INCREMENT.
  bool permanent = false;       ///< Statements on the table stand at once: it has no transactions.
  /// The facts about columns that Inspect gives; a column that is not here has the kind bytes.
  std::map<std::string, ColumnFacts> facts = {};
  /// Why no row of the table is merged; kNone: requests and columns decide.
  NotMergeable not_mergeable = NotMergeable::kNone;
};

struct Table {
  const TableDefinition definition;
  /// The committed rows; replaced as a whole, so that readers keep the rows they have.
  std::shared_ptr<const Rows> rows;
  uint64_t next_id = 1;
};

Cell ToCell(const model::Value& value);
/// The cells of `row` at these positions.
Row Pick(const Row& row, const std::vector<uint32_t>& positions);
Row PrimaryKey(const TableDefinition& table, const Row& row);
IndexFacts FactsOf(const TableDefinition& table, const IndexDefinition& index,
                   const std::vector<uint32_t>& columns);
Rows Apply(const Rows& rows, const Changes& changes);

/// The rows that a find matches, after filters, offset and limit, in the find's order. Adds the
/// number of rows that the find has looked at to `rows_passed`.
std::vector<Row> Matching(const Rows& rows, const IndexDefinition& index,
                          const std::vector<uint32_t>& filter_columns, const model::Find& find,
                          uint64_t* rows_passed = nullptr);

enum class Change : uint8_t { kChanged, kLeftAlone, kOutOfRange };
/// Carries out the update, the increment or the decrement of a find on a row.
Change Modify(const model::Find& find, const std::vector<uint32_t>& columns, Row* row);

}  // namespace rowsocket::engine::fake
