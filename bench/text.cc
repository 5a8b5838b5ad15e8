#include "bench/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace rowsocket::bench {
namespace {

bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

char* WriteFilled(char* at, uint64_t number, uint64_t digits_min) {
  char digits[kNumberBytesMax];
  const auto count = static_cast<size_t>(WriteNumber(digits, number) - digits);
  for (size_t i = count; i < digits_min; ++i) *at++ = '0';
  return WriteText(at, {digits, count});
}

size_t DigitsAtStart(std::string_view text) {
  const auto* end =
      std::find_if_not(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return static_cast<size_t>(end - text.begin());
}

}  // namespace

char* WriteNumber(char* at, uint64_t number) {
  return std::to_chars(at, at + kNumberBytesMax, number).ptr;
}

void Template::AddLiteral(std::string_view bytes) {
  if (bytes.empty()) return;
  max_bytes_ += bytes.size();
  if (!parts_.empty() && parts_.back().kind == Part::Kind::kLiteral) {
    parts_.back().literal += bytes;
  } else {
    parts_.push_back({Part::Kind::kLiteral, std::string(bytes)});
  }
}

bool Template::AddPlaceholder(std::string_view inside) {
  uint64_t number = 0;
  if (inside.size() > 2 && inside[1] == '*') {
    if (!ParseNumber(inside.substr(2), &number) || number > kTextBytesMax) return false;
    AddLiteral(std::string(number, inside[0]));
    return true;
  }
  max_bytes_ += kNumberBytesMax;
  if (inside == "v") {
    parts_.push_back({Part::Kind::kSerial, {}});
    return true;
  }
  if (inside == "n") {
    parts_.push_back({Part::Kind::kRow, {}, 1});
    return true;
  }
  const bool filled = inside.starts_with("n:");
  if ((!filled && !inside.starts_with("n%")) || !ParseNumber(inside.substr(2), &number)) {
    return false;
  }
  if (number == 0 || (filled && number > kNumberBytesMax)) return false;
  parts_.push_back({filled ? Part::Kind::kRow : Part::Kind::kModulo, {}, number});
  return true;
}

std::optional<Template> Template::Parse(std::string_view text, std::string* error) {
  Template result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    result.AddLiteral(text.substr(0, open));
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos ||
        !result.AddPlaceholder(text.substr(open + 1, close - open - 1))) {
      *error = "a placeholder is one of {n} {n:8} {n%5} {v} {x*40}, not " +
               std::string(text.substr(open, close - open));
      return std::nullopt;
    }
    text.remove_prefix(close + 1);
  }
  if (result.max_bytes_ > kTextBytesMax) {
    *error = "a text has at most 16 MiB";
    return std::nullopt;
  }
  for (const Part& part : result.parts_) {
    if (std::any_of(part.literal.begin(), part.literal.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x10; })) {
      *error = "bytes below 0x10 are not for texts";  // HandlerSocket would escape these bytes
      return std::nullopt;
    }
  }
  return result;
}

char* Template::Write(char* at, uint64_t n, uint64_t v) const {
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::kLiteral:
        at = WriteText(at, part.literal);
        break;
      case Part::Kind::kRow:
        at = part.number == 1 ? WriteNumber(at, n) : WriteFilled(at, n, part.number);
        break;
      case Part::Kind::kModulo:
        at = WriteNumber(at, n % part.number);
        break;
      case Part::Kind::kSerial:
        at = WriteNumber(at, v);
        break;
    }
  }
  return at;
}

bool Template::Matches(std::string_view text, uint64_t n) const {
  for (const Part& part : parts_) {
    char number[kNumberBytesMax];
    std::string_view expected = part.literal;
    if (part.kind == Part::Kind::kSerial) {
      const size_t digits = DigitsAtStart(text);
      if (digits == 0) return false;
      text.remove_prefix(digits);
      continue;
    }
    if (part.kind == Part::Kind::kRow) {
      expected = {number, static_cast<size_t>(WriteFilled(number, n, part.number) - number)};
    } else if (part.kind == Part::Kind::kModulo) {
      expected = {number, static_cast<size_t>(WriteNumber(number, n % part.number) - number)};
    }
    if (!text.starts_with(expected)) return false;
    text.remove_prefix(expected.size());
  }
  return text.empty();
}

std::string Template::ToString(uint64_t n, uint64_t v) const {
  std::string text(max_bytes_, '\0');
  text.resize(static_cast<size_t>(Write(text.data(), n, v) - text.data()));
  return text;
}

std::optional<Templates> ParseTemplates(std::string_view list, std::string* error) {
  Templates templates;
  for (const std::string& text : SplitList(list)) {
    auto parsed = Template::Parse(text, error);
    if (!parsed) return std::nullopt;
    templates.push_back(std::move(*parsed));
  }
  return templates;
}

char* WriteJoined(const Templates& templates, char separator, char* at, uint64_t n, uint64_t v) {
  bool first = true;
  for (const Template& one : templates) {
    if (!first) *at++ = separator;
    first = false;
    at = one.Write(at, n, v);
  }
  return at;
}

size_t JoinedBytesMax(const Templates& templates) {
  size_t bytes = templates.size();
  for (const Template& one : templates) bytes += one.MaxBytes();
  return bytes;
}

bool MatchesJoined(const Templates& templates, char separator, std::string_view text, uint64_t n) {
  for (size_t i = 0; i < templates.size(); ++i) {
    const bool last = i + 1 == templates.size();
    const size_t end = last ? text.size() : text.find(separator);
    if (end == std::string_view::npos || !templates[i].Matches(text.substr(0, end), n)) {
      return false;
    }
    text.remove_prefix(last ? end : end + 1);
  }
  return text.empty();
}

std::vector<std::string> SplitList(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    items.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return items;
}

std::string Unescape(std::string_view text) {
  constexpr std::string_view kFrom = "tnr0\\";
  constexpr std::string_view kTo("\t\n\r\0\\", 5);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t known =
        text[i] == '\\' && i + 1 < text.size() ? kFrom.find(text[i + 1]) : std::string_view::npos;
    result += known == std::string_view::npos ? text[i] : kTo[known];
    if (known != std::string_view::npos) ++i;
  }
  return result;
}

}  // namespace rowsocket::bench
