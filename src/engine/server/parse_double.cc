#include "engine/server/parse_double.h"

#include <algorithm>
#include <string>

#include "api.h"

namespace rowsocket::engine::server {

namespace {

/// A number half way between two DOUBLEs has at most 767 digits: after that many digits, it only
/// matters whether all others are 0.
constexpr size_t kRealDigitsMax = 800;
/// The server's function takes larger exponents for this one.
constexpr int kExponentMax = 19'999;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

ParsedDouble Convert(std::string_view text) {
  ParsedDouble real;
  const char* end = text.data() + text.size();
  real.value = ReadDouble(text, &end, &real.error);
  real.bytes = static_cast<size_t>(end - text.data());
  return real;
}

/// Reads the exponent at `*at`, and moves `*at` to its end; 0, with `*at` unchanged, if there is
/// none.
int TakeExponent(std::string_view text, size_t* at) {
  size_t digit = *at;
  if (digit == text.size() || (text[digit] != 'e' && text[digit] != 'E')) return 0;
  ++digit;
  const bool negative = digit < text.size() && text[digit] == '-';
  if (negative || (digit < text.size() && text[digit] == '+')) ++digit;
  if (digit == text.size() || !IsDigit(text[digit])) return 0;
  int exponent = 0;
  for (; digit < text.size() && IsDigit(text[digit]); ++digit) {
    exponent = std::min(exponent * 10 + (text[digit] - '0'), kExponentMax);
  }
  *at = digit;
  return negative ? -exponent : exponent;
}

}  // namespace

ParsedDouble ParseDoublePrefix(std::string_view text) {
  if (text.size() <= kRealDigitsMax) return Convert(text);
  const auto after_digits = [text](size_t at) {
    return std::min(text.find_first_not_of("0123456789", at), text.size());
  };
  size_t begin = std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size());
  const bool negative = begin < text.size() && text[begin] == '-';
  if (negative || (begin < text.size() && text[begin] == '+')) ++begin;
  begin = std::min(text.find_first_not_of('0', begin), text.size());
  size_t end = after_digits(begin);
  if (end - begin <= kRealDigitsMax) return Convert(text);
  std::string shortened = negative ? "-" : "";
  shortened += text.substr(begin, kRealDigitsMax);
  const size_t left_out = end - begin - kRealDigitsMax;
  const std::string_view rest = text.substr(begin + kRealDigitsMax, left_out);
  const bool has_more = rest.find_first_not_of('0') != std::string_view::npos;
  // After that many digits, the server's function ignores the digits after the point.
  if (end < text.size() && text[end] == '.') end = after_digits(end + 1);
  // One more digit stands for all digits left out, and the exponent makes up for the others.
  const int64_t exponent = TakeExponent(text, &end) + static_cast<int64_t>(left_out) - 1;
  shortened += (has_more ? "1e" : "0e") + std::to_string(exponent);
  ParsedDouble real = Convert(shortened);
  real.bytes = end;
  return real;
}

}  // namespace rowsocket::engine::server
