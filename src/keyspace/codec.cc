#include "keyspace/codec.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rowsocket::keyspace {

namespace {

constexpr char kEscape = '\\';
constexpr std::string_view kNull = "\\N";

/// Where the first column of `text` ends; the column has `*escapes` escaped bytes.
size_t ColumnEnd(std::string_view text, char separator, size_t* escapes) {
  *escapes = 0;
  size_t end = 0;
  for (; end < text.size() && text[end] != separator; ++end) {
    if (text[end] != kEscape) continue;
    ++*escapes;
    ++end;  // The byte after a backslash is no separator.
  }
  return end < text.size() ? end : text.size();
}

/// Removes the escapes from a column. Null data: a backslash stands before another byte.
std::string_view Unescape(std::string_view column, size_t escapes, char separator,
                          base::Arena& arena) {
  const std::span<char> bytes = arena.Allocate<char>(column.size() - escapes + 1);
  size_t size = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    if (column[i] == kEscape) {
      ++i;
      if (i == column.size() || (column[i] != kEscape && column[i] != separator)) return {};
    }
    bytes[size++] = column[i];
  }
  return {bytes.data(), size};
}

/// Whether one of eight bytes is 0.
bool HasZeroByte(uint64_t bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  return ((bytes - kOnes) & ~bytes & kHighs) != 0;
}

/// Whether the text has one of both bytes. Most columns have neither, and are copied whole; looking
/// at eight bytes at once takes a quarter of the instructions of a look at each.
bool HasEither(std::string_view text, char a, char b) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t all_a = kOnes * static_cast<unsigned char>(a);
  const uint64_t all_b = kOnes * static_cast<unsigned char>(b);
  constexpr size_t kStep = sizeof(uint64_t);
  const auto has = [&](size_t at) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, kStep);
    return HasZeroByte(bytes ^ all_a) || HasZeroByte(bytes ^ all_b);
  };
  if (text.size() < kStep) {
    return std::any_of(text.begin(), text.end(), [=](char one) { return one == a || one == b; });
  }
  for (size_t at = 0; at + kStep <= text.size(); at += kStep) {
    if (has(at)) return true;
  }
  return has(text.size() - kStep);
}

}  // namespace

bool SplitColumns(std::string_view text, char separator, base::Arena& arena,
                  std::span<model::Value> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    size_t escapes = 0;
    const size_t end = ColumnEnd(text, separator, &escapes);
    const std::string_view column = text.substr(0, end);
    const bool is_last = i + 1 == parts.size();
    if (is_last != (end == text.size())) return false;
    if (!is_last) text.remove_prefix(end + 1);
    if (column == kNull) {
      parts[i] = model::Value();
    } else if (escapes == 0) {
      parts[i] = model::Value(column);
    } else {
      const std::string_view plain = Unescape(column, escapes, separator, arena);
      if (plain.data() == nullptr) return false;
      parts[i] = model::Value(plain);
    }
  }
  return true;
}

void AppendColumn(const model::Value& value, char separator, base::Buffer& out) {
  if (value.is_null()) {
    out.Append(kNull);
    return;
  }
  std::string_view rest = value.text();
  if (!HasEither(rest, kEscape, separator)) return out.Append(rest);
  while (!rest.empty()) {
    size_t plain = 0;
    while (plain < rest.size() && rest[plain] != kEscape && rest[plain] != separator) ++plain;
    out.Append(rest.substr(0, plain));
    if (plain == rest.size()) return;
    out.Append(kEscape);
    out.Append(rest[plain]);
    rest.remove_prefix(plain + 1);
  }
}

}  // namespace rowsocket::keyspace
