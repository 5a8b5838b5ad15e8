// An Index is what clients open: the names of an index and its columns, one object for all clients
// that give the same names.
//
// An Index belongs to no session: any session of the factory that made it executes requests on it.
// Each session looks up for itself what the names mean at the moment, and keeps its findings by
// id().
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

/// An index and columns of a table as a caller has found them earlier.
struct IndexPin {
  std::string index;  ///< The index's name, even one that begins with a digit; empty or PRIMARY:
                      ///< the primary key.
  std::vector<std::string> columns;
  IndexFacts facts;  ///< The facts that Session::Inspect gave.

  /// Whether `now` equals the pinned facts, apart from facts that depend on other keys and other
  /// tables.
  bool Holds(IndexFacts now) const;
};

/// The names by which a client, or the library itself, opens an index.
struct IndexNames {
  std::string db;
  std::string table;
  /// Empty or PRIMARY: the primary key. If it begins with a digit: the index's number from 0,
  /// unless `index_is_name`.
  std::string index;
  std::vector<std::string> columns;
  std::vector<std::string> filter_columns;
  /// While the table differs from the pin, requests fail with kOpenTable. Null: there is no pin.
  std::shared_ptr<const IndexPin> pin = nullptr;
  /// Which columns of the present table OpenIndex takes. The opened index has names that list these
  /// columns, with kNamed.
  enum class Lists : uint8_t {
    kNamed,           ///< The columns that are named.
    kAllButKey,       ///< All columns of the table but those of the index, in their order.
    kKey,             ///< The columns of the index, in their order there.
    kNamedThatExist,  ///< The columns that are named and that the table has.
    /// The columns that are named; OpenIndex fails with kFld if one of them is a column of the
    /// index.
    kNamedOutsideKey,
  };
  Lists lists = Lists::kNamed;
  /// When `lists` would no longer give the columns that OpenIndex has taken, requests fail with
  /// kFld.
  bool keeps_listed_columns = false;
  /// What `lists` was when the index was opened, if the index keeps its listed columns.
  Lists kept_lists = Lists::kNamed;
  /// `index` is a name even if it begins with a digit. Some callers mean a number by such a
  /// text; others set this.
  bool index_is_name = false;

  bool index_is_number() const {
    return !index_is_name && !index.empty() && index[0] >= '0' && index[0] <= '9';
  }
  friend bool operator==(const IndexNames&, const IndexNames&) = default;
};

/// An opened index. It stays usable across DDL: sessions look its names up again when they must.
class Index {
 public:
  Index(IndexNames names, uint32_t id, uint64_t serial)
      : names_(std::move(names)), id_(id), serial_(serial) {}
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  const IndexNames& names() const { return names_; }
  uint32_t columns() const { return static_cast<uint32_t>(names_.columns.size()); }
  uint32_t filter_columns() const { return static_cast<uint32_t>(names_.filter_columns.size()); }

  /// The index's number among the live indexes; a later index gets the number once this index is
  /// gone.
  uint32_t id() const { return id_; }
  /// Numbers from 1; no two indexes ever have the same serial.
  uint64_t serial() const { return serial_; }

 private:
  const IndexNames names_;
  const uint32_t id_;
  const uint64_t serial_;
};

/// The live indexes that the sessions of one factory have opened.
class IndexRegistry {
 public:
  IndexRegistry();

  /// Returns the index with these names: the same object as long as somebody holds it.
  std::shared_ptr<Index> Get(const IndexNames& names);

 private:
  struct State;
  /// The registry shares the state with the handles that it has given out.
  std::shared_ptr<State> state_;
};

}  // namespace rowsocket::engine
