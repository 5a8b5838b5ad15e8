// Pieces of text protocols whose lines end with CR LF: memcached's and Redis's.
#pragma once

#include <charconv>
#include <cstring>
#include <string_view>

namespace rowsocket::bench {

struct CrLfLine {
  std::string_view text;  ///< The line without CR LF.
  size_t bytes = 0;       ///< The bytes of the line with CR LF; 0: the line is not complete.
};

inline CrLfLine FirstCrLfLine(std::string_view received) {
  if (received.empty()) return {};
  const auto* end = static_cast<const char*>(memchr(received.data(), '\n', received.size()));
  if (end == nullptr) return {};
  const auto length = static_cast<size_t>(end - received.data());
  const size_t text = length > 0 && received[length - 1] == '\r' ? length - 1 : length;
  return {received.substr(0, text), length + 1};
}

/// Takes the word up to the next blank off the front.
inline std::string_view TakeWord(std::string_view* text) {
  const size_t blank = text->find(' ');
  const std::string_view word = text->substr(0, blank);
  text->remove_prefix(blank == std::string_view::npos ? text->size() : blank + 1);
  return word;
}

template <typename T>
bool ParseWholeNumber(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace rowsocket::bench
