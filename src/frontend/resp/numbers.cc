#include "frontend/resp/numbers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/random_seed.h"

namespace rowsocket::frontend {

namespace {

__extension__ using Wide = __int128;

/// Redis's limit for such a text: the largest number has 4,933 digits.
constexpr size_t kFloatTextMax = 5 * 1024;
/// Digits that a Decimal holds: 10^38 fits into 127 bits.
constexpr size_t kSumDigitsMax = 37;

struct Decimal {
  Wide digits = 0;
  size_t decimals = 0;
};

bool ParseDecimal(std::string_view text, Decimal* decimal) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  size_t count = 0;
  bool after_point = false;
  for (const char byte : text) {
    if (byte == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (byte < '0' || byte > '9' || ++count > kSumDigitsMax) return false;
    decimal->digits = decimal->digits * 10 + (byte - '0');
    decimal->decimals += after_point;
  }
  if (is_negative) decimal->digits = -decimal->digits;
  return count != 0;
}

/// Gives the number this many decimals. False: it would have too many digits.
bool Scale(size_t decimals, Decimal* decimal) {
  for (; decimal->decimals < decimals; ++decimal->decimals) {
    if (__builtin_mul_overflow(decimal->digits, Wide{10}, &decimal->digits)) return false;
  }
  return true;
}

void DropZeros(std::string* text) {
  if (text->find('.') == std::string::npos) return;
  while (text->back() == '0') text->pop_back();
  if (text->back() == '.') text->pop_back();
  if (*text == "-0") text->erase(0, 1);
}

}  // namespace

bool ParseInteger(std::string_view text, int64_t* number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *number);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool ParsePlainInteger(std::string_view text, int64_t* number) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.starts_with('0') && text != "0") return false;
  return ParseInteger(text, number);
}

bool ParseCursor(std::string_view text, uint64_t* cursor) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *cursor);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool ParseFloat(std::string_view text, long double* number) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const bool may_be_one =
      !text.empty() && text.size() < kFloatTextMax && kBlanks.find(text.front()) == kBlanks.npos;
  if (!may_be_one) return false;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  *number = std::strtold(copy.c_str(), &end);
  const bool fits = errno != ERANGE || (std::isfinite(*number) && *number != 0);
  return fits && end == copy.c_str() + copy.size() && !std::isnan(*number);
}

std::string FormatFloat(long double number) {
  const int size = std::snprintf(nullptr, 0, "%.17Lf", number);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), "%.17Lf", number);
  text.pop_back();
  DropZeros(&text);
  return text;
}

std::string FormatDouble(double number) {
  // The smallest double has 1,074 digits after the point, the largest 309 before it.
  std::array<char, 2048> text;
  const double unsigned_zero = number == 0 ? 0 : number;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), unsigned_zero,
                                 std::chars_format::fixed);
  return {text.data(), end.ptr};
}

std::string PlainDecimal(std::string_view text) {
  constexpr size_t kPlainDigitsMax = 38;
  std::string plain;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    if (text[0] == '-') plain.push_back('-');
    text.remove_prefix(1);
  }
  int exponent = 0;
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return {};
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits.append(text.substr(point + 1));
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (!is_number || digits.size() > kPlainDigitsMax) return {};
  constexpr auto kExponentMax = static_cast<int>(kPlainDigitsMax);
  if (exponent < -kExponentMax || exponent > kExponentMax) return {};
  // The position of the point, counted from the first digit.
  int at = static_cast<int>(point) + exponent;
  if (at < 1) digits.insert(0, static_cast<size_t>(1 - at), '0');
  at = std::max(at, 1);
  if (digits.size() < static_cast<size_t>(at)) digits.resize(static_cast<size_t>(at), '0');
  plain.append(digits, 0, static_cast<size_t>(at));
  if (digits.size() > static_cast<size_t>(at)) {
    plain.push_back('.');
    plain.append(digits, static_cast<size_t>(at));
  }
  return plain;
}

bool AddDecimals(std::string_view a, std::string_view b, std::string* sum) {
  Decimal left, right;
  if (!ParseDecimal(a, &left) || !ParseDecimal(b, &right)) return false;
  const size_t decimals = std::max(left.decimals, right.decimals);
  Wide digits = 0;
  const bool fits = Scale(decimals, &left) && Scale(decimals, &right) &&
                    !__builtin_add_overflow(left.digits, right.digits, &digits);
  if (!fits) return false;
  const bool is_negative = digits < 0;
  std::string text;
  for (size_t i = 0; digits != 0 || i <= decimals; ++i) {
    if (i == decimals && decimals != 0) text.push_back('.');
    const auto digit = static_cast<int>(digits % 10);
    text.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    digits /= 10;
  }
  if (is_negative) text.push_back('-');
  *sum = {text.rbegin(), text.rend()};
  DropZeros(sum);
  return true;
}

size_t DecimalsOf(std::string_view decimal) {
  const size_t point = decimal.find('.');
  return point == std::string_view::npos ? 0 : decimal.size() - point - 1;
}

uint64_t RandomNumber(uint64_t below) {
  thread_local std::mt19937_64 random{base::RandomSeed()};
  return std::uniform_int_distribution<uint64_t>(0, below - 1)(random);
}

}  // namespace rowsocket::frontend
