// How many of the threads of a pool one client may have, so that others find one.
#pragma once

#include <algorithm>

namespace rowsocket::exec {

/// How many of `threads` may work for one account, or one address: a quarter of them, and at least
/// one of several, is for others.
inline unsigned ThreadShare(unsigned threads) {
  return threads <= 1 ? 1 : threads - std::max(1u, threads / 4);
}

}  // namespace rowsocket::exec
