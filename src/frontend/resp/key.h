// Which row a key of RESP names:
//
//   key   := table [ "@" index ] ":" part { ":" part }
//   table := schema "." name | name                     (name alone: in resp_schema)
//
// A part is the text of one key column. `\:` in a part is a colon, `\\` a backslash; a backslash
// before anything else would be lost on the way to the row, so that no row has such a key.
// Threads: pure functions.
// Lifetime: views of the key and of the arena.
#pragma once

#include <span>
#include <string_view>

#include "base/arena.h"
#include "model/value.h"

namespace rowsocket::frontend {

struct RespKey {
  std::string_view db, table, index;
  std::span<model::Value> parts;
  /// A backslash stands before another byte, or at the end: the key is no row's.
  bool has_wrong_escape = false;
};

/// Reads the parts of a key, which come after its table, into `key->parts`.
void ParseRespParts(std::string_view text, base::Arena& arena, RespKey* key);

/// Reads a key. False: it names no table. `schema`: the schema of tables that are named without
/// one; empty: there is none.
bool ParseRespKey(std::string_view text, std::string_view schema, base::Arena& arena, RespKey* key);

/// Whether the text is a number that the server would write otherwise (`007`, `+7`, `7.0`), so that
/// no row of a numeric key has it.
bool IsUncanonicalNumber(std::string_view text);

}  // namespace rowsocket::frontend
