// Opens connections of a stream protocol and sends the hello of the workload on each.
//
// Flow: waves of kConnectWave: connect all, send all hellos, then read all their replies, so that
//       the server's side of it is not measured by round trips of one client.
// Threads: the calling thread, which waits.
// Errors: false with `*error`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/stream.h"
#include "bench/workload.h"

namespace rowsocket::bench {

inline constexpr size_t kConnectWave = 64;

/// Opens the connections. `says_hello` false: only connects, without proof that the server has
/// accepted them.
bool OpenConnections(const Options& options, Workload* workload, size_t count, bool says_hello,
                     std::vector<Stream>* connections, std::string* error);

}  // namespace rowsocket::bench
