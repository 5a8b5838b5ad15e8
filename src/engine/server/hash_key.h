// The parts of a key, and keys whose uniqueness is kept by a hash over their columns (UNIQUE over
// TEXT or BLOB in MariaDB): the server puts a hidden column with the hash after the columns that
// the user named. One .cc for each family of servers; MySQL has no such keys.
//
// Threads: the session's.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// The parts of a key that the user named.
struct KeyParts {
  const KEY_PART_INFO* first;
  uint count;
  bool is_hash;
};

/// The parts of the key before its hidden column. REQUIRES: IsHash(key).
KeyParts HashKeyParts(const KEY& key);

inline KeyParts UserKeyParts(const KEY& key) {
  if (IsHash(key)) [[unlikely]]
    return HashKeyParts(key);
  return {key.key_part, key.user_defined_key_parts, /*is_hash=*/false};
}

/// Computes the hash over the values that stand in record[0]. REQUIRES: IsHash(key).
void StoreHash(THD* thd, TABLE* table, const KEY& key);

}  // namespace rowsocket::engine::server
