// What clients open: the names of an index and its columns, one object for all who name the same.
//
// An Index belongs to no session: any session of the factory that gave it out executes requests on
// it. What the names mean at the moment each session looks up for itself and keeps by id().
//
// Threads: an Index is immutable; an IndexRegistry is for all threads, and only opening and the
// last release of a handle touch it.
// Lifetime: an Index lives as long as somebody holds its handle, which may outlast the registry.
// Limits: ids are dense, as many as there are live indexes; each port's connections have
// index_ids_max ids each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/facts.h"

namespace rowsocket::engine {

/// What an index and columns of a table were when somebody decided by it what requests mean.
struct IndexPin {
  std::string index;
  std::vector<std::string> columns;
  IndexFacts facts;  ///< Of Session::Inspect.

  /// Whether they say the same still, but for what other keys and tables have to do with it.
  bool Holds(IndexFacts now) const;
};

/// What a client named with P.
struct IndexNames {
  std::string db;
  std::string table;
  std::string
      index;  ///< Empty or PRIMARY: the primary key; starting with a digit: a number from 0.
  std::vector<std::string> columns;
  std::vector<std::string> filter_columns;
  /// While the table is not so, requests fail with kOpenTable. Null: it is taken as it is.
  std::shared_ptr<const IndexPin> pin = nullptr;

  friend bool operator==(const IndexNames&, const IndexNames&) = default;
};

/// An opened index: stays usable across DDL, its names are looked up again when they must be.
class Index {
 public:
  Index(IndexNames names, uint32_t id, uint64_t serial)
      : names_(std::move(names)), id_(id), serial_(serial) {}
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  const IndexNames& names() const { return names_; }
  uint32_t columns() const { return static_cast<uint32_t>(names_.columns.size()); }
  uint32_t filter_columns() const { return static_cast<uint32_t>(names_.filter_columns.size()); }

  /// Its place among the live indexes; given to another one once this one is gone.
  uint32_t id() const { return id_; }
  /// From 1; never given twice.
  uint64_t serial() const { return serial_; }

 private:
  const IndexNames names_;
  const uint32_t id_;
  const uint64_t serial_;
};

/// The live indexes of a factory's sessions.
class IndexRegistry {
 public:
  IndexRegistry();

  /// Equal names give the same object, as long as somebody holds it.
  std::shared_ptr<Index> Get(const IndexNames& names);

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< Shared with the handles that are out.
};

}  // namespace rowsocket::engine
