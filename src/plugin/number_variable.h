// A system variable with a number that workers read while SET GLOBAL may change it.
//
// Threads: the server sets it under its own lock; workers read the copy.
#pragma once

#include <atomic>
#include <cstdint>

#include "declare.h"

namespace rowsocket::plugin {

/// The function with which MYSQL_SYSVAR_UINT updates the variable, and the copy for the workers.
template <std::atomic<uint32_t>& kCopy>
void SetNumber(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  const unsigned value = *static_cast<const unsigned*>(save);
  *static_cast<unsigned*>(target) = value;
  kCopy.store(value, std::memory_order_relaxed);
}

}  // namespace rowsocket::plugin
