// memcached's workloads: mc-get, mc-multiget, mc-set, mc-mixed, mc-ma and mc-fill in its text
// protocol, mc-binary-get.
//
// The value of row n is the texts of --values joined by '|', as a container with several value
// columns joins them; a set leaves the texts of --set.
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// Makes the workload. REQUIRES: options.protocol is kMemcached.
std::unique_ptr<Workload> MakeMemcached(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
