// Between columns and text: what a SQL client with SET NAMES utf8mb4 would send and see.
//
// Threads: the session's; both functions work on the table's current row (record[0]).
#pragma once

#include "engine/mariadb/server.h"
#include "model/row_sink.h"
#include "model/value.h"

namespace rowsocket::engine::mariadb {

/// Room that cells are converted in; reused from row to row.
struct CellBuffers {
  String text;
  String converted;
};

/// Pushes one column's text. False when the sink has reached its limit.
bool SendCell(Field* field, CellBuffers& buffers, model::RowSink& sink);

/// Stores a value as INSERT and UPDATE do. False when the server refused it; the reason is in the
/// THD's diagnostics area.
bool StoreCell(THD* thd, Field* field, const model::Value& value);

/// The character set in which the wire's text is given to a column.
CHARSET_INFO* WireCharset(const Field* field);

}  // namespace rowsocket::engine::mariadb
