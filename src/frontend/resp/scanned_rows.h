// The rows that a command on many keys looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/limits.h"
#include "model/row_sink.h"

namespace rowsocket::frontend {

/// Columns of the store that a scan reads.
enum ScanColumn : uint32_t { kScannedDatabase, kScannedKey, kScannedExpires };

/// Keeps the values of the rows of a find.
class RespScannedRows final : public model::RowSink {
 public:
  using Row = std::vector<std::optional<std::string>>;

  /// Takes cells of at most `bytes_max` bytes in all.
  explicit RespScannedRows(size_t columns, size_t bytes_max = model::kRespScannedBytesMax)
      : columns_(columns), bytes_left_(bytes_max) {}
  bool Cell(std::string_view text) override {
    is_full_ = text.size() > bytes_left_;
    if (is_full_) return false;
    bytes_left_ -= text.size();
    Add(std::string(text));
    return true;
  }
  bool NullCell() override {
    Add(std::nullopt);
    return true;
  }
  const std::vector<Row>& rows() const { return rows_; }
  /// Whether the last cell was refused, because the cells had too many bytes.
  bool is_full() const { return is_full_; }

 private:
  void Add(std::optional<std::string> value) {
    if (rows_.empty() || rows_.back().size() == columns_) rows_.emplace_back();
    rows_.back().push_back(std::move(value));
  }
  const size_t columns_;
  size_t bytes_left_;
  bool is_full_ = false;
  std::vector<Row> rows_;
};

}  // namespace rowsocket::frontend
