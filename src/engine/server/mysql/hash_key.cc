#include "engine/server/hash_key.h"

namespace rowsocket::engine::server {

// Never called: no key of MySQL is IsHash, which these two functions require.
KeyParts HashKeyParts(const KEY&) { return {}; }
void StoreHash(THD*, TABLE*, const KEY&) {}

}  // namespace rowsocket::engine::server
