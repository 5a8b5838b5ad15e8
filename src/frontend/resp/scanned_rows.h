// The rows that a command on many keys looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/row_sink.h"

namespace rowsocket::frontend {

/// Columns of the store that a scan reads.
enum ScanColumn : uint32_t { kScannedDatabase, kScannedKey, kScannedExpires };

/// Takes the rows of a find: the values of their columns.
class RespScannedRows final : public model::RowSink {
 public:
  using Row = std::vector<std::optional<std::string>>;

  explicit RespScannedRows(size_t columns) : columns_(columns) {}
  bool Cell(std::string_view text) override {
    Add(std::string(text));
    return true;
  }
  bool NullCell() override {
    Add(std::nullopt);
    return true;
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void Add(std::optional<std::string> value) {
    if (rows_.empty() || rows_.back().size() == columns_) rows_.emplace_back();
    rows_.back().push_back(std::move(value));
  }
  const size_t columns_;
  std::vector<Row> rows_;
};

}  // namespace rowsocket::frontend
