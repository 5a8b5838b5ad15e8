// Which row a key of RESP names:
//
//   key   := table [ "@" index ] ":" part { ":" part }
//   table := schema "." name | name                     (name alone: in resp_schema)
//
// A part is the text of one key column. `\:` in a part is a colon, `\\` a backslash.
// Threads: pure functions. Lifetime: views of the key and of the arena.
#pragma once

#include <span>
#include <string_view>

#include "base/arena.h"
#include "model/value.h"

namespace rowsocket::frontend {

struct RespKey {
  std::string_view db, table, index;
  std::span<model::Value> parts;
};

/// The parts of a key behind its table.
std::span<model::Value> ParseRespParts(std::string_view text, base::Arena& arena);

/// False: the key names no table; `schema`: where tables without one are, empty: nowhere.
bool ParseRespKey(std::string_view text, std::string_view schema, base::Arena& arena, RespKey* key);

/// Whether the text is a number that the server would write otherwise (`007`, `+7`, `7.0`), so that
/// no row of a numeric key has it.
bool IsOtherNumber(std::string_view text);

}  // namespace rowsocket::frontend
