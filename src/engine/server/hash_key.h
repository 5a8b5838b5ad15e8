// The parts of a key, and keys whose uniqueness is kept by a hash over their columns (UNIQUE over
// TEXT or BLOB in MariaDB): the server puts a hidden column with the hash after the columns that
// the user named. One .cc for each family of servers; MySQL has no such keys.
//
// Threads: the session's.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// The parts of a key that the user named. The end of a row's time, which the server puts after
/// them in a system-versioned table, is no part: among the current rows it is the same in each.
struct KeyParts {
  const KEY_PART_INFO* first;
  uint count;
  bool is_hash;
};

/// Whether the last part of a unique key is the end of a row's time. REQUIRES: !IsHash(key).
inline bool EndsWithRowEnd(const KEY& key) {
  return (key.flags & HA_NOSAME) != 0 &&
         IsRowEnd(*key.key_part[key.user_defined_key_parts - 1].field);
}

/// The parts of the key before its hidden column. REQUIRES: IsHash(key).
KeyParts HashKeyParts(const KEY& key);

inline KeyParts UserKeyParts(const KEY& key) {
  if (IsHash(key)) [[unlikely]]
    return HashKeyParts(key);
  return {key.key_part, key.user_defined_key_parts - (EndsWithRowEnd(key) ? 1u : 0u),
          /*is_hash=*/false};
}

/// Computes the hash over the values that stand in record[0], as a current row has it. REQUIRES:
/// IsHash(key).
void StoreHash(THD* thd, TABLE* table, const KEY& key);

}  // namespace rowsocket::engine::server
