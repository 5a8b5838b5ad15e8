// Times as columns hold them: expiry and cas.
//
// A moment is milliseconds since 1970; a row that never expires has kNever.
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "keyspace/container.h"
#include "model/value.h"

namespace rowsocket::keyspace {

inline constexpr int64_t kNever = INT64_MAX;

/// The system's clock, in milliseconds and in microseconds since 1970.
int64_t WallClockMs();
int64_t WallClockUs();

/// While a StillClock lives, WallClockMs stands still for its thread.
class StillClock {
 public:
  StillClock();
  /// Lets the clock stand at this moment, for tests.
  explicit StillClock(int64_t at_ms);
  ~StillClock();
  StillClock(const StillClock&) = delete;
  StillClock& operator=(const StillClock&) = delete;
};

/// Memory for any number or time as text.
using TextRoom = std::array<char, 32>;

/// The milliseconds of a moment or a span. A moment too late for any column becomes the last one
/// that fits.
int64_t SecondsToMs(int64_t seconds);
/// The moment in a column of expiry in seconds. NULL, 0 and texts that are no number mean never.
int64_t ExpiryFromCell(const model::Value& cell);
/// The moment in the container's column of expiry, whatever its unit.
int64_t ExpiryFromCell(const model::Value& cell, const Container& container);
/// The value to store in a column of expiry. A column of whole seconds gets the next second, so
/// that no item expires before its time.
model::Value ExpiryToCell(int64_t expiry_ms, const Container& container, TextRoom* room);
/// Seconds left to live, rounded up; -1: never expires.
int64_t TtlOf(int64_t expiry_ms, int64_t now_ms);

/// The cas in a column of kNumber or kTime; never 0.
uint64_t CasFromCell(const model::Value& cell, CasKind kind);
/// The value to store for a cas. REQUIRES: the column can hold the cas.
model::Value CasToCell(uint64_t cas, CasKind kind, TextRoom* room);
/// The cas of a row without a cas column.
uint64_t CasOfContent(uint32_t flags, std::string_view value);

/// Parses a text that is a number. False for other texts, and for more than 64 bits.
bool ParseNumber(std::string_view text, uint64_t* number);
model::Value NumberToCell(uint64_t number, TextRoom* room);

}  // namespace rowsocket::keyspace
