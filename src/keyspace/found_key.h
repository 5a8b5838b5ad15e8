// Keys of rows, for code that goes through a container: copied out of a find on
// Container::key_index or Container::expiry_index.
//
// Threads: one owner.
// Lifetime: the rows are copies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "keyspace/container.h"
#include "model/row_sink.h"
#include "model/value.h"

namespace rowsocket::keyspace {

struct FoundKey {
  std::optional<std::string> expiry;  ///< Without a value: NULL, or no column of expiry.
  std::vector<std::optional<std::string>> parts;

  std::vector<model::Value> Values() const {
    std::vector<model::Value> values;
    for (const auto& part : parts) {
      values.push_back(part ? model::Value(std::string_view(*part)) : model::Value());
    }
    return values;
  }
  bool has_null() const {
    for (const auto& part : parts) {
      if (!part) return true;
    }
    return false;
  }
};

class KeyCollector final : public model::RowSink {
 public:
  explicit KeyCollector(const Container& container)
      : has_expiry_(container.expiry != ExpiryKind::kNone),
        columns_(container.key.size() + has_expiry_) {}

  bool Cell(std::string_view text) override { return Take(std::string(text)); }
  bool NullCell() override { return Take(std::nullopt); }

  std::vector<FoundKey> rows;

 private:
  bool Take(std::optional<std::string> cell) {
    if (at_ == 0) rows.emplace_back();
    if (at_ == 0 && has_expiry_)
      rows.back().expiry = std::move(cell);
    else
      rows.back().parts.push_back(std::move(cell));
    at_ = (at_ + 1) % columns_;
    return true;
  }

  const bool has_expiry_;
  const size_t columns_;
  size_t at_ = 0;
};

}  // namespace rowsocket::keyspace
