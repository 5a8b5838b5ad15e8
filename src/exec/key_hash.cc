#include "exec/key_hash.h"

#include <sys/random.h>

#include <chrono>

namespace rowsocket::exec {

// If the system has no random bytes, the hashes are as good as those of any table.
HashSecret HashSecret::Random() {
  HashSecret secret{};
  if (getentropy(&secret, sizeof(secret)) != 0) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    secret = {static_cast<uint64_t>(now), static_cast<uint64_t>(now) * 0x9E3779B97F4A7C15u};
  }
  secret.factor |= 1;
  return secret;
}

const HashSecret kHashSecret = HashSecret::Random();

}  // namespace rowsocket::exec
