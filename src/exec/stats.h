// Counters, for SHOW GLOBAL STATUS and `stats`; one block of counters for each thread.
//
// Threads: only a block's own thread counts in it; any thread may add the blocks up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/counter_info.h"
#include "base/counters.h"
#include "base/require.h"
#include "exec/ran_alone.h"
#include "model/error.h"

namespace rowsocket::exec {

/// The counters of layer `exec` in spec/counters.tsv.
enum class Stat : uint8_t {
#define ROWSOCKET_COUNTER(constant, ...) constant,
#include "exec/counters.inc"
  kErrorsFirst,  ///< The counter of the first ErrorCode; one for each follows.
  kErrorsLast = kErrorsFirst + model::kErrorCodes - 1,
  kCount
};

/// Ordered by Stat. No plugin shows the counter of ErrorCode::kNone, which is never counted.
inline constexpr base::CounterInfo kStatInfo[] = {
#define ROWSOCKET_COUNTER(constant, name, type, plugins, stats) \
  {name, base::CounterType::type, plugins, stats},
#include "exec/counters.inc"
    {"errors_none", base::CounterType::kCounter, "", ""},
#define ROWSOCKET_ERROR(constant, name, code, text, plugins) \
  {"errors_" name, base::CounterType::kCounter, plugins, ""},
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
static_assert(std::size(kStatInfo) == static_cast<size_t>(Stat::kCount));

inline constexpr base::QuantileInfo kQuantileInfo[] = {
#define ROWSOCKET_QUANTILE(name, permille, plugins) {name, permille, plugins},
#include "exec/counters.inc"
};

using StatRegistry = base::CounterRegistry<Stat>;
using StatBlock = base::CounterBlock<Stat>;

/// The counter of a cause. Causes after kEngine in ErrorCode are failures of the engine, and count
/// as kEngine.
constexpr Stat ErrorStat(model::ErrorCode code) {
  return static_cast<Stat>(static_cast<unsigned>(Stat::kErrorsFirst) +
                           static_cast<unsigned>(std::min(code, model::ErrorCode::kEngine)));
}

/// The counter of a reason for which a request was not merged. REQUIRES: `ran_alone` is not kNot.
constexpr Stat UnmergedStat(RanAlone ran_alone) {
  ROWSOCKET_REQUIRE(ran_alone != RanAlone::kNot);
  if (ran_alone == RanAlone::kRerun) return Stat::kUnmergedRerun;
  using Reason = engine::NotMergeable;
  switch (static_cast<Reason>(ran_alone)) {
    case Reason::kEngine:
      return Stat::kUnmergedEngine;
    case Reason::kTable:
      return Stat::kUnmergedTable;
    case Reason::kTrigger:
      return Stat::kUnmergedTrigger;
    case Reason::kVersioned:
      return Stat::kUnmergedVersioned;
    case Reason::kUniqueKey:
      return Stat::kUnmergedUniqueKey;
    case Reason::kForeignKey:
      return Stat::kUnmergedForeignKey;
    case Reason::kGenerated:
      return Stat::kUnmergedGenerated;
    case Reason::kCheck:
      return Stat::kUnmergedCheck;
    case Reason::kRequest:
    case Reason::kNone:
    case Reason::kCount:
      break;
  }
  return Stat::kUnmergedRequest;
}

}  // namespace rowsocket::exec
