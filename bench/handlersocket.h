// HandlerSocket's workloads: hs-get, hs-in, hs-range, hs-secondary, hs-update, hs-insert,
// hs-find-group, hs-decrement, hs-purchase, hs-mixed. The protocol is described in
// spec/handlersocket.md.
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// Makes the workload. REQUIRES: options.protocol is kHandlerSocket.
std::unique_ptr<Workload> MakeHandlerSocket(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
