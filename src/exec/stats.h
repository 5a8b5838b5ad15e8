// What is counted, for SHOW GLOBAL STATUS and `stats`; one block of counters a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/counter_info.h"
#include "base/counters.h"
#include "engine/session.h"
#include "model/error.h"

namespace rowsocket::exec {

/// The counters of layer `exec` in spec/counters.tsv.
enum class Stat : uint8_t {
#define ROWSOCKET_COUNTER(constant, ...) constant,
#include "exec/counters.inc"
  kErrorsFirst,  ///< One counter an ErrorCode from here on.
  kErrorsLast = kErrorsFirst + model::kErrorCodes - 1,
  kCount
};

/// By Stat. The counter of ErrorCode::kNone, which nothing counts, is shown by no plugin.
inline constexpr base::CounterInfo kStatInfo[] = {
#define ROWSOCKET_COUNTER(constant, name, type, plugins, stats) \
  {name, base::CounterType::type, plugins, stats},
#include "exec/counters.inc"
    {"errors_none", base::CounterType::kCounter, "", ""},
#define ROWSOCKET_ERROR(constant, name, ...) \
  {"errors_" name, base::CounterType::kCounter, "handlersocket", ""},
#include "model/errors.inc"
#undef ROWSOCKET_ERROR
};
static_assert(std::size(kStatInfo) == static_cast<size_t>(Stat::kCount));

using StatRegistry = base::CounterRegistry<Stat>;
using StatBlock = base::CounterBlock<Stat>;

constexpr Stat ErrorStat(model::ErrorCode code) {
  return static_cast<Stat>(static_cast<unsigned>(Stat::kErrorsFirst) + static_cast<unsigned>(code));
}

/// REQUIRES: a reason, not kNone.
constexpr Stat UnmergedStat(engine::NotMergeable reason) {
  using Reason = engine::NotMergeable;
  switch (reason) {
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
    case Reason::kToken:
      return Stat::kUnmergedToken;
    case Reason::kRerun:
      return Stat::kUnmergedRerun;
    case Reason::kRequest:
    case Reason::kNone:
    case Reason::kCount:
      break;
  }
  return Stat::kUnmergedRequest;
}

}  // namespace rowsocket::exec
