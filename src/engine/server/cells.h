// Makes text of columns, and stores text in columns: the text that a SQL client with SET NAMES
// utf8mb4 would see and send.
//
// Threads: the session's; all work on the table's current row (record[0]).
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "api.h"
#include "model/row_sink.h"
#include "model/value.h"

namespace rowsocket::engine::server {

/// Memory in which cells are converted, reused from row to row.
struct CellBuffers {
  String text;
  String converted;
};

/// Whether the column's text is sent as it is stored, without conversion: UTF-8, bytes, and numbers
/// and times, whose texts are ASCII.
bool IsWireText(const Field* field);

/// Pushes one column's text. False when the sink has reached its limit.
bool SendCell(Field* field, CellBuffers& buffers, model::RowSink& sink);

/// Holds the cells of a row at the same time.
class RowCells {
 public:
  /// The row's cells as a find of these columns would send them, valid until the row or this object
  /// changes; none when there is no row.
  std::span<const model::Value> Read(TABLE* table, bool exists, const std::vector<uint>& fields);

 private:
  std::deque<CellBuffers> buffers_;  ///< One for each column; grows to the widest row.
  std::vector<model::Value> values_;
};

/// Stores a value as INSERT and UPDATE do. False when the server refused it; the reason is in the
/// THD's diagnostics area.
bool StoreCell(THD* thd, Field* field, const model::Value& value);

/// The character set in which the wire's text is given to a column.
const CHARSET_INFO* WireCharset(const Field* field);

}  // namespace rowsocket::engine::server
