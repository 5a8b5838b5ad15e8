// Turns columns of rows that were read into text, as SendCell (cells.h) does, for one open table.
//
// What does not depend on a row is found out once a column: where its bytes lie in record[0], and
// how they become text. Integers, VARCHAR, TEXT and BLOB whose bytes are the wire's, DATE and
// DATETIME without fraction are formatted here; every other column goes through SendCell.
//
// Threads: the session's.
// Lifetime: as long as the table is open.
#pragma once

#include <cstdint>

#include "api.h"
#include "engine/server/cells.h"
#include "model/row_sink.h"

namespace rowsocket::engine::server {

class CellReader {
 public:
  explicit CellReader(Field* field);

  /// Pushes the column's text of the row in record[0]. False when the sink has reached its limit.
  bool Send(CellBuffers& buffers, model::RowSink& sink) const;

 private:
  enum class Kind : uint8_t { kOther, kInteger, kVarchar, kBlob, kDate, kDatetime };

  static Kind KindOf(const Field& field);
  /// The little-endian number of `bytes_` bytes.
  uint64_t Load() const;
  bool SendInteger(model::RowSink& sink) const;
  bool SendDate(model::RowSink& sink) const;
  bool SendDatetime(model::RowSink& sink) const;

  const Kind kind_;
  const bool is_unsigned_;
  uint8_t bytes_ = 0;  ///< Size of the integer, or of the length that stands before the text.
  const uchar null_bit_;
  const uchar* const null_byte_;  ///< Null: the column cannot be NULL.
  const uchar* const data_;
  Field* const field_;
};

}  // namespace rowsocket::engine::server
