// Increments and decrements: exact, in the column's own type.
//
// Threads: the session's; works on the table's current row.
#pragma once

#include "api.h"
#include "model/value.h"

namespace rowsocket::engine::server {

enum class Step : uint8_t {
  kApplied,    ///< The new value is in the field; NULL stays NULL.
  kLeftAlone,  ///< A decrement would change the sign: the caller leaves the whole row alone.
  kRefused,    ///< Out of range or no number; the error is in the diagnostics area.
};

/// Adds `operand` to the field, or subtracts it. If the field or the operand is NULL nothing
/// changes.
Step AddToField(THD* thd, Field* field, const model::Value& operand, bool subtract);

}  // namespace rowsocket::engine::server
