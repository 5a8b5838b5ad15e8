// The name of what a request asks for by one key: an opened index and the key's text. Equal names
// mean the same row if the key is a whole unique one; otherwise the same rows. Different names may
// mean one row as well (`1` and `01`).
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
  /// Makes the name of what the request asks for by one key, or the name of the index alone if the
  /// request asks in another way.
  RowName(const engine::Index& index, const model::Request& request)
      : RowName(index,
                request.asks_by_one_key() ? request.key() : std::span<const model::Value>()) {}

  /// Whether the name has a key, and is not that of an index alone.
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
