// Which row of a container a key names.
//
// Threads: pure functions.
// Lifetime: views of the key and of the arena.
#pragma once

#include <span>
#include <string_view>

#include "base/arena.h"
#include "keyspace/container.h"
#include "model/value.h"

namespace rowsocket::keyspace {

struct RowKey {
  std::span<const model::Value> parts;    ///< One value for each part of the index.
  std::span<const model::Value> columns;  ///< One value for each of key_columns.
};

/// Splits a key into the values of its columns. False: the columns cannot hold the text, so that no
/// row has it. REQUIRES: the container is usable.
bool ParseRowKey(std::string_view text, const Container& container, base::Arena& arena,
                 RowKey* key);

}  // namespace rowsocket::keyspace
