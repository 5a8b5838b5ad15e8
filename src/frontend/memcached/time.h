// Times as the memcached protocol has them, and as columns hold them: expiry and token.
//
// A moment is milliseconds since 1970; a row that never expires has kNever.
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "frontend/memcached/containers/container.h"
#include "model/value.h"

namespace rowsocket::frontend {

inline constexpr int64_t kNever = INT64_MAX;

/// Milliseconds since 1970, and microseconds.
int64_t WallClockMs();
int64_t WallClockUs();

/// Room for any number or time as text.
using TextRoom = std::array<char, 32>;

/// When what was sent with this exptime expires; an exptime below 0 has expired already.
int64_t ExpiryOf(int64_t exptime, int64_t now_ms);
/// What a column of expiry says. NULL, 0 and what is no number: never.
int64_t ExpiryFromCell(const model::Value& cell);
/// What the column shall hold. A column of whole seconds gets the next one, so that nothing expires
/// before its time.
model::Value ExpiryToCell(int64_t expiry_ms, const containers::Container& container,
                          TextRoom* room);
/// Whole seconds left to live, the last one begun; -1: for ever.
int64_t TtlOf(int64_t expiry_ms, int64_t now_ms);

/// Of a column of kNumber or kTime; never 0.
uint64_t TokenFromCell(const model::Value& cell, containers::TokenKind kind);
/// REQUIRES: the column can hold it.
model::Value TokenToCell(uint64_t token, containers::TokenKind kind, TextRoom* room);
/// Of a row without a column for it.
uint64_t TokenOfContent(uint32_t flags, std::string_view value);

/// A number that is all of the text; false otherwise, and when it needs more than 64 bits.
bool ParseNumber(std::string_view text, uint64_t* number);
model::Value NumberToCell(uint64_t number, TextRoom* room);

}  // namespace rowsocket::frontend
