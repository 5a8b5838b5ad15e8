// A RowSink receives the cells of a find from an engine session, row by row, as text.
//
// Flow: for each row: columns() calls of Cell or NullCell, in the order of the opened columns.
// Threads: called on the session's thread.
// Errors: once Cell or NullCell returned false the reply is over its size limit and the engine
// stops with ErrorCode::kResultsize.
#pragma once

#include <string_view>

namespace rowsocket::model {

class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Takes a cell; `text` is valid only during the call. Returns false when the reply has reached
  /// its limit.
  virtual bool Cell(std::string_view text) = 0;
  virtual bool NullCell() = 0;
};

/// The sink of edits, and of writes without `?`, which send no rows.
class NoRows final : public RowSink {
 public:
  bool Cell(std::string_view) override { return true; }
  bool NullCell() override { return true; }
};

}  // namespace rowsocket::model
