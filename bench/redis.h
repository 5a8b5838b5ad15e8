// Redis's workload: redis-decr, a decrement with a condition by a server-side script.
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// REQUIRES: options.protocol is kRedis.
std::unique_ptr<Workload> MakeRedis(const Options& options, uint64_t seed);

}  // namespace rowsocket::bench
