// Which container and which row a memcached key means.
//
//   key := [ "@@" name delimiter ] rest        `@@name` alone names a container and no row
//
// Flow: Resolve fills a MemcachedTarget, whose `wrong` says why a key cannot be used.
// Threads: pure functions of a snapshot.
// Lifetime: views of the key and of the arena; the container is the snapshot's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/arena.h"
#include "keyspace/catalog.h"
#include "keyspace/row_key.h"
#include "model/value.h"

namespace rowsocket::frontend {

struct MemcachedTarget : keyspace::RowKey {
  enum class Wrong : uint8_t {
    kNothing,
    kNoContainer,  ///< Its name is not in the mapping tables, or there is none at all.
    kUnusable,     ///< The container is disabled.
    kNoSuchKey,    ///< The key's columns cannot hold it, so that no row has it.
  };
  Wrong wrong = Wrong::kNothing;
  bool was_hit = false;            ///< The get that was executed has found the item.
  bool is_container_only = false;  ///< `@@name`.
  const keyspace::Container* container = nullptr;
  std::string_view key;      ///< As the client sent it, with its prefix.
  std::string_view row_key;  ///< Without its prefix: one text for each row.
  std::string_view name;     ///< The container's name: the one in the key, or that of the
                             ///< connection's container.
};

/// Finds container and row of a key. `standard`: the container of a key that names none; may be
/// null. REQUIRES: `target->name` is the name of `standard`, and stays so if the key names no
/// container.
void Resolve(std::string_view key, const keyspace::Snapshot& snapshot,
             const keyspace::Container* standard, base::Arena& arena, MemcachedTarget* target);

/// Why a target cannot be used; for kNoSuchKey: why it cannot be written.
std::string Explain(const MemcachedTarget& target, const keyspace::Snapshot& snapshot);

}  // namespace rowsocket::frontend
