// Chooses the row of the next decrement: one of --hot-rows, or by --cold-percent one of the other
// rows.
#pragma once

#include "bench/keys.h"
#include "bench/options.h"

namespace rowsocket::bench {

inline uint64_t ChooseDecremented(const Options& options, Random* random) {
  const uint64_t hot = options.hot_rows;
  if (options.cold_percent > 0 && random->Unit() * 100 < options.cold_percent) {
    return hot + 1 + random->Below(options.rows - hot);
  }
  return hot == 1 ? 1 : 1 + random->Below(hot);
}

}  // namespace rowsocket::bench
