// The verbs of HandlerSocket by which latencies are counted.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "model/request.h"

namespace rowsocket::frontend {

enum class HandlerSocketVerb : uint8_t {
  kOther,  ///< A line that was refused before its verb was known, a question about the server (H),
           ///< or a name (N).
  kFind,
  kInsert,
  kUpdate,
  kDelete,
  kIncrement,
  kGroup,
  kOpen,
  kAuth,
};
/// By HandlerSocketVerb.
inline constexpr std::string_view kHandlerSocketVerbNames[] = {
    "other", "find", "insert", "update", "delete", "increment", "group", "open", "auth"};
static_assert(std::size(kHandlerSocketVerbNames) ==
              static_cast<size_t>(HandlerSocketVerb::kAuth) + 1);

constexpr HandlerSocketVerb VerbOf(const model::Request& request) {
  using Verb = HandlerSocketVerb;
  if (request.verb == model::Request::Verb::kInsert) return Verb::kInsert;
  switch (request.find.modification) {
    case model::Modification::kNone:
      return Verb::kFind;
    case model::Modification::kUpdate:
      return Verb::kUpdate;
    case model::Modification::kDelete:
      return Verb::kDelete;
    case model::Modification::kIncrement:
    case model::Modification::kDecrement:
      break;
  }
  return Verb::kIncrement;
}
/// The number of a verb for exec::Item::verb.
constexpr uint16_t VerbNumber(HandlerSocketVerb verb) { return static_cast<uint16_t>(verb); }

}  // namespace rowsocket::frontend
