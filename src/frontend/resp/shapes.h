// What a connection has found about the tables of its commands, by the shape of the command: an
// open index, or why there is none.
//
// Threads: one owner.
// Lifetime: a RespShape does not move until it is erased. After Erase, Repeated returns null until
// Repeat is called again. The former index of a shape is kept until ReleaseFormer, because items of
// a turn may use it.
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
  std::shared_ptr<engine::Index> index;  ///< Null: it could not be opened, because of `error`.
  int64_t opened_ms = 0;
  model::Error error;
};

class RespShapes {
 public:
  /// Finds a shape by its name. Null: there is none.
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
  /// Lets all shapes be opened anew, because a table has changed.
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
  /// How many bytes the names of all shapes have.
  size_t bytes() const { return bytes_; }
  /// How many columns all open indexes have.
  size_t columns() const { return columns_; }
  /// About how much memory all of this takes, with the columns of each index, although connections
  /// that name the same index share them.
  size_t held_bytes() const {
    constexpr size_t kShapeBytes = 128, kColumnBytes = 32;
    return size() * kShapeBytes + columns_ * kColumnBytes + bytes_;
  }

  /// Keeps the shape of this name for commands that differ from it only in their key, and name the
  /// same table.
  void Repeat(const std::string& name, const RespKey& key) {
    repeated_ = Find(name);
    db_ = key.db;
    table_ = key.table;
    index_ = key.index;
  }
  void ForgetRepeated() { repeated_ = nullptr; }
  /// The shape that Repeat has kept. Null: none, or one of another table.
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
