// What a connection has found of the tables that its commands name, by the shape of the command: an
// open index, or why there is none.
//
// Threads: one owner. Lifetime: a RespShape stays where it is until it is erased. After Erase,
// Repeated has none until Repeat is called again. The former index of a shape is kept until
// ReleaseFormer, because items of a turn may use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/session.h"
#include "exec/key_hash.h"
#include "frontend/resp/key.h"
#include "model/error.h"

namespace rowsocket::frontend {

struct RespShape {
  std::shared_ptr<engine::Index> index;  ///< Null: there was none, because of `error`.
  int64_t opened_ms = 0;
  model::Error error;
};

class RespShapes {
 public:
  /// Null: there is no shape of this name.
  const RespShape* Find(const std::string& name) const {
    const auto found = shapes_.find(name);
    return found == shapes_.end() ? nullptr : &found->second;
  }
  void Put(const std::string& name, RespShape shape) {
    const auto [found, is_new] = shapes_.try_emplace(name);
    if (is_new) bytes_ += name.size();
    RespShape& known = found->second;
    columns_ += ColumnsOf(shape) - ColumnsOf(known);
    KeepFormer(&known, shape.index);
    known = std::move(shape);
  }
  void Erase(const std::string& name) {
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) return;
    ForgetRepeated();
    columns_ -= ColumnsOf(found->second);
    KeepFormer(&found->second, nullptr);
    bytes_ -= name.size();
    shapes_.erase(found);
  }
  /// All shapes are to be opened anew: a table has changed.
  void MarkStale() {
    for (auto& [name, shape] : shapes_) shape.opened_ms = 0;
  }
  /// To be called while no item uses an index.
  void ReleaseFormer() { former_.clear(); }
  /// To be called while no item uses an index.
  void Clear() {
    ForgetRepeated();
    bytes_ = columns_ = 0;
    shapes_.clear();
    former_.clear();
  }
  size_t size() const { return shapes_.size(); }
  /// The bytes of the names of all shapes.
  size_t bytes() const { return bytes_; }
  /// The columns of all open indexes.
  size_t columns() const { return columns_; }
  /// About the memory of all of this, and of the columns of each index, which connections share
  /// where they name the same.
  size_t held_bytes() const {
    constexpr size_t kShapeBytes = 128, kColumnBytes = 32;
    return size() * kShapeBytes + columns_ * kColumnBytes + bytes_;
  }

  /// Keeps the shape of this name for commands that differ from it in their key alone, and name the
  /// same table.
  void Repeat(const std::string& name, const RespKey& key) {
    repeated_ = Find(name);
    db_ = key.db;
    table_ = key.table;
    index_ = key.index;
  }
  void ForgetRepeated() { repeated_ = nullptr; }
  /// The shape that Repeat has kept. Null: none is kept, or it is another table's.
  const RespShape* Repeated(const RespKey& key) const {
    const bool is_it =
        repeated_ != nullptr && key.db == db_ && key.table == table_ && key.index == index_;
    return is_it ? repeated_ : nullptr;
  }

 private:
  static size_t ColumnsOf(const RespShape& shape) {
    return shape.index != nullptr ? shape.index->columns() : 0;
  }
  void KeepFormer(RespShape* shape, const std::shared_ptr<engine::Index>& next) {
    if (shape->index != nullptr && shape->index != next) former_.push_back(std::move(shape->index));
  }

  std::unordered_map<std::string, RespShape, exec::TextHash> shapes_;
  size_t bytes_ = 0;
  size_t columns_ = 0;
  std::vector<std::shared_ptr<engine::Index>> former_;
  const RespShape* repeated_ = nullptr;  ///< One of shapes_; null: none.
  std::string db_, table_, index_;       ///< The names of which repeated_ is the shape.
};

}  // namespace rowsocket::frontend
