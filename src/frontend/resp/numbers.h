// Numbers in commands and values, as Redis reads and writes them.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowsocket::frontend {

/// The errors of commands that need a number and get something that is none.
inline constexpr std::string_view kNoFloat = "ERR value is not a valid float";
inline constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";

/// Reads a whole text that is a signed integer of 64 bits.
bool ParseInteger(std::string_view text, int64_t* number);
/// Reads a signed integer of 64 bits as Redis takes it from a value, so that `007` and `-0` are
/// none.
bool ParsePlainInteger(std::string_view text, int64_t* number);
/// Reads a cursor of SCAN or HSCAN: a whole text that is an unsigned integer of 64 bits, perhaps
/// with a plus, as in Redis.
bool ParseCursor(std::string_view text, uint64_t* cursor);
/// Reads a number, perhaps with a fraction or an exponent, or an infinity; not NaN.
bool ParseFloat(std::string_view text, long double* number);
/// The shortest decimal with at most 17 digits after the point, without an exponent.
std::string FormatFloat(long double number);
/// The shortest decimal without an exponent that a reader takes for this number, which is finite.
std::string FormatDouble(double number);
/// The exact number without plus and exponent; empty: it has more than 38 digits or an exponent
/// beyond 38, or is no decimal number.
std::string PlainDecimal(std::string_view text);
/// Adds two decimals without exponents, of at most 37 digits, exactly. False: one of them is no
/// such decimal.
bool AddDecimals(std::string_view a, std::string_view b, std::string* sum);
/// How many digits a decimal has after its point.
size_t DecimalsOf(std::string_view decimal);
/// A random number from 0 on and less than `below`, which is not 0.
uint64_t RandomNumber(uint64_t below);

}  // namespace rowsocket::frontend
