// The parts of a key. In MySQL the user has named all of them: there are no keys whose uniqueness
// is kept by a hash.
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
inline KeyParts UserKeyParts(const KEY& key) {
  return {key.key_part, key.user_defined_key_parts, /*is_hash=*/false};
}

inline bool IsHash(const KEY&) { return false; }
/// REQUIRES: IsHash(key).
inline void StoreHash(THD*, TABLE*, const KEY&) {}

}  // namespace rowsocket::engine::server
