// Keys whose uniqueness is kept by a hash over their columns (UNIQUE over TEXT or BLOB): the server
// puts the columns that the user named in front of a hidden column with the hash.
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
KeyParts UserKeyParts(const KEY& key);

inline bool IsHash(const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; }

/// Computes the hash over the values that stand in record[0]. REQUIRES: IsHash(key).
void StoreHash(THD* thd, TABLE* table, const KEY& key);

}  // namespace rowsocket::engine::server
