// Checks what a function requires of its callers, and what must hold between calls: in the builds
// of unit tests, sanitizers, fuzz targets and the engine contract (ROWSOCKET_CHECKS). The released
// library does not evaluate it. Never for what comes from the wire (invariant I6).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rowsocket::base {

/// Ends the process, and says which requirement was not kept.
[[noreturn]] inline void RequirementFailed(const char* condition, const char* file, int line) {
  fprintf(stderr, "%s:%d: required: %s\n", file, line, condition);
  abort();
}

}  // namespace rowsocket::base

#ifdef ROWSOCKET_CHECKS
#define ROWSOCKET_REQUIRE(condition) \
  ((condition) ? void() : ::rowsocket::base::RequirementFailed(#condition, __FILE__, __LINE__))
#else
// The condition is compiled, so that it stays valid code, but not evaluated.
#define ROWSOCKET_REQUIRE(condition) static_cast<void>(sizeof(!(condition)))
#endif
