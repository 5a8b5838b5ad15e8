// The row that a request names: an opened index and the text of a key. Equal names name one row;
// different names may name one row as well (`1` and `01`).
//
// Threads: plain values.
// Lifetime: views of the request's key and of the index.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/index.h"
#include "exec/key_hash.h"
#include "model/request.h"

namespace rowsocket::exec {

inline uint64_t HashKey(uint64_t seed, std::span<const model::Value> key) {
  for (const model::Value& value : key) seed = HashText(seed + value.is_null(), value.text());
  return seed;
}

inline bool SameText(const model::Value& a, const model::Value& b) {
  return a.is_null() == b.is_null() && a.text() == b.text();
}

inline bool SameKey(std::span<const model::Value> a, std::span<const model::Value> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameText(a[i], b[i])) return false;
  }
  return true;
}

class RowName {
 public:
  RowName(const engine::Index& index, std::span<const model::Value> key)
      : index_(&index), key_(key) {}
  /// Makes the name of the row, or no row's name if the request may be about several rows.
  RowName(const engine::Index& index, const model::Request& request)
      : RowName(index, request.names_one_row() ? request.key() : std::span<const model::Value>()) {}

  /// Whether this is the name of a row, or only of an index.
  bool is_row() const { return !key_.empty(); }
  const engine::Index& index() const { return *index_; }
  std::span<const model::Value> key() const { return key_; }

  uint64_t Hash() const { return HashKey(index_->serial(), key_); }
  friend bool operator==(const RowName& a, const RowName& b) {
    return a.index_ == b.index_ && SameKey(a.key_, b.key_);
  }
  /// Appends bytes that are equal for equal names and do not depend on the views in the name.
  void AppendTo(std::string* bytes) const {
    AppendNumber(index_->serial(), bytes);
    for (const model::Value& value : key_) {
      AppendNumber(value.is_null() ? UINT64_MAX : value.text().size(), bytes);
      bytes->append(value.text());
    }
  }

 private:
  static void AppendNumber(uint64_t number, std::string* bytes) {
    bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  const engine::Index* index_;
  std::span<const model::Value> key_;
};

}  // namespace rowsocket::exec
