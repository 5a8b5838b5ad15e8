// A protocol's text for each cause, as a table that the compiler checks: a new row of
// spec/errors.tsv does not compile until the table has it, with a text or among the causes without
// one.
//
// Threads: constant data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include "model/error.h"

namespace rowsocket::model {

struct CauseText {
  ErrorCode code;
  std::string_view text;
};

/// Whether each cause is in exactly one of the lists, once. kNone is no cause.
constexpr bool HaveEachCauseOnce(std::span<const CauseText> worded,
                                 std::span<const ErrorCode> others) {
  size_t found[kErrorCodes] = {1};
  for (const CauseText& each : worded) ++found[static_cast<size_t>(each.code)];
  for (const ErrorCode each : others) ++found[static_cast<size_t>(each)];
  return std::all_of(std::begin(found), std::end(found), [](size_t times) { return times == 1; });
}

/// The text of a cause; empty: it has none.
constexpr std::string_view TextOf(std::span<const CauseText> worded, ErrorCode code) {
  for (const CauseText& each : worded) {
    if (each.code == code) return each.text;
  }
  return {};
}

}  // namespace rowsocket::model
