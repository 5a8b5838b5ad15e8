// Workloads of MySQL's X Protocol: prepared CRUD messages, as the X DevAPI's drivers send them.
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// Makes the workload. REQUIRES: options.protocol is kX.
std::unique_ptr<Workload> MakeXProtocol(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
