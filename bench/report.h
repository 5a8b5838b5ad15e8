// The one JSON object that a run prints.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/options.h"
#include "bench/runner.h"
#include "bench/server_usage.h"

namespace rowsocket::bench {

/// The generator's own CPU time.
struct OwnUsage {
  double user_s = 0;
  double sys_s = 0;
};

OwnUsage ReadOwnUsage();

struct Moment {
  int64_t monotonic_ns = 0;
  double unix_s = 0;
  ServerUsage server;
  OwnUsage own;
};

struct RunFacts {
  Moment start;  ///< At the start of the measured time.
  Moment end;
  double connect_s = 0;
  double idle_connect_s = 0;
  uint64_t resident_kb_before = 0;      ///< The server's memory before the first connection.
  uint64_t resident_kb_after_idle = 0;  ///< The server's memory with the idle connections.
  RunResult result;                     ///< The sum over all threads.
};

void MergeInto(RunResult* all, RunResult* one);

/// Jain's index: 1 when all counts are equal, 1/n when all but one are 0.
double JainIndex(const std::vector<uint64_t>& counts);

/// Whether the run proves that the server's answers were right.
bool IsRight(const Options& options, const RunFacts& facts, const BeforeImages::Result& images);

void PrintReport(const Options& options, const RunFacts& facts, const BeforeImages::Result& images);

}  // namespace rowsocket::bench
