// Redis's own commands, for a Redis and for Rowsocket's RESP port alike:
//   redis-get, redis-mget  texts, as the values of a row with | between them
//   redis-set              stores --set under random keys
//   redis-hmget            --columns of a hash, each of them checked
//   redis-hincrby          takes 1 from --stock-column of a hash, without a guard
//   redis-fill-texts, redis-fill-hashes   rows 1 to --rows as --values says, then the run ends
#pragma once

#include <memory>

#include "bench/workload.h"

namespace rowsocket::bench {

/// Makes the workload that options.workload names; null if it is none of these.
std::unique_ptr<Workload> MakeRedisCommand(const Options& options, Shared* shared, uint64_t seed);

}  // namespace rowsocket::bench
