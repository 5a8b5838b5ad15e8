// Redis's workloads, by server-side scripts: redis-decr, a decrement with a condition, and
// redis-purchase, which also appends the order to the list --orders-table; and the commands of
// redis_commands.h.
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// Makes the workload. REQUIRES: options.protocol is kRedis.
std::unique_ptr<Workload> MakeRedis(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
