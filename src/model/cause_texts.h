// What a protocol says of each cause, as a table that the compiler checks: a new row of
// spec/errors.tsv does not compile until the table has it, with words or among those without words.
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

/// Whether each cause stands once, in one of the lists. kNone is no cause.
constexpr bool HaveEachCauseOnce(std::span<const CauseText> worded,
                                 std::span<const ErrorCode> others) {
  size_t found[kErrorCodes] = {1};
  for (const CauseText& each : worded) ++found[static_cast<size_t>(each.code)];
  for (const ErrorCode each : others) ++found[static_cast<size_t>(each)];
  return std::all_of(std::begin(found), std::end(found), [](size_t times) { return times == 1; });
}

/// Empty where the cause has no words.
constexpr std::string_view TextOf(std::span<const CauseText> worded, ErrorCode code) {
  for (const CauseText& each : worded) {
    if (each.code == code) return each.text;
  }
  return {};
}

}  // namespace rowsocket::model
