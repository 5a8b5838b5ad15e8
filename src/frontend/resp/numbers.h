// Numbers in commands and values, as Redis reads and writes them.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowsocket::frontend {

/// The errors of commands that need a number and get another text.
inline constexpr std::string_view kNoFloat = "ERR value is not a valid float";
inline constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";

/// A signed integer of 64 bits, whole text.
bool ParseInteger(std::string_view text, int64_t* number);
/// A signed integer of 64 bits as Redis takes it from a value, so that `007` and `-0` are none.
bool ParsePlainInteger(std::string_view text, int64_t* number);
/// A cursor of SCAN and its kin: an unsigned integer of 64 bits, whole text. It may have a
/// plus, as in Redis.
bool ParseCursor(std::string_view text, uint64_t* cursor);
/// A number with a fraction or an exponent, or an infinity; not NaN.
bool ParseFloat(std::string_view text, long double* number);
/// The shortest decimal with at most 17 digits behind the point, without an exponent.
std::string FormatFloat(long double number);
/// The shortest decimal without an exponent that a reader takes for this number, which is finite.
std::string FormatDouble(double number);
/// The number without a plus and an exponent, exactly; empty: it is given with more than 38 digits
/// or an exponent beyond 38, or is no decimal number.
std::string PlainDecimal(std::string_view text);
/// The exact sum of two decimals without exponents, of at most 38 digits; false: they are none.
bool AddDecimals(std::string_view a, std::string_view b, std::string* sum);
/// Digits behind the point of a decimal.
size_t DecimalsOf(std::string_view decimal);
/// A number at random, from 0 on and less than `below`, which is not 0.
uint64_t RandomNumber(uint64_t below);

}  // namespace rowsocket::frontend
