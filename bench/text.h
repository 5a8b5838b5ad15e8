// Texts that depend on a row's number: keys, the content a row must have, new values.
//
// A template is literal bytes and placeholders:
//   {n}     the row's number                    {n:8}  the same, filled up with zeros to 8 digits
//   {n%5}   the number modulo 5                 {v}    a serial number, another one in each request
//   {x*40}  40 times the byte x
//
// A list of templates is separated by commas.
//
// Flow: Parse once; Write into memory of at least MaxBytes(); Matches for text from any source.
// Threads: constant after Parse.
// Limits: kTextBytesMax bytes a text.
// Errors: Parse says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::bench {

inline constexpr size_t kTextBytesMax = size_t{16} << 20;
/// Digits of the largest uint64_t.
inline constexpr size_t kNumberBytesMax = 20;

class Template {
 public:
  static std::optional<Template> Parse(std::string_view text, std::string* error);

  size_t MaxBytes() const { return max_bytes_; }

  /// Writes the text of row `n` with serial `v` to `at`; returns its end.
  char* Write(char* at, uint64_t n, uint64_t v) const;

  /// Whether `text` is the text of row `n` with any serial at all.
  bool Matches(std::string_view text, uint64_t n) const;

  std::string ToString(uint64_t n, uint64_t v) const;

 private:
  struct Part {
    enum class Kind : uint8_t { kLiteral, kRow, kModulo, kSerial };
    Kind kind;
    std::string literal;  ///< kLiteral
    uint64_t number = 0;  ///< kRow: digits at least; kModulo: the divisor
  };

  void AddLiteral(std::string_view bytes);
  bool AddPlaceholder(std::string_view inside);

  std::vector<Part> parts_;
  size_t max_bytes_ = 0;
};

using Templates = std::vector<Template>;

/// Parses a list: `a,b{n},c` is three templates; the empty text is no template.
std::optional<Templates> ParseTemplates(std::string_view list, std::string* error);

/// Writes the texts of row `n`, each followed by `separator` except the last.
char* WriteJoined(const Templates& templates, char separator, char* at, uint64_t n, uint64_t v);
/// The most bytes that WriteJoined writes.
size_t JoinedBytesMax(const Templates& templates);
/// Whether `text` is the result of WriteJoined for row `n`, with any serials.
bool MatchesJoined(const Templates& templates, char separator, std::string_view text, uint64_t n);

char* WriteNumber(char* at, uint64_t number);
inline char* WriteText(char* at, std::string_view text) {
  return static_cast<char*>(__builtin_memcpy(at, text.data(), text.size())) + text.size();
}

std::vector<std::string> SplitList(std::string_view list);

/// Replaces `\t`, `\n`, `\r`, `\0` and `\\` by the bytes that they stand for; other backslashes
/// stay.
std::string Unescape(std::string_view text);

}  // namespace rowsocket::bench
