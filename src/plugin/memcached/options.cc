#include "plugin/memcached/options.h"

#include <algorithm>
#include <charconv>

namespace rowsocket::plugin {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool IsOption(std::string_view word) { return word.size() >= 2 && word[0] == '-'; }

template <typename Number>
bool ParseCount(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end && *number > 0;
}

/// Parses an octal mode, as chmod does.
bool ParseMode(std::string_view text, unsigned* mode) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *mode, /*base=*/8);
  return parsed.ec == std::errc() && parsed.ptr == end && *mode <= 0777;
}

bool ParseSize(std::string_view text, unsigned long long* size) {
  unsigned shift = 0;
  if (text.ends_with('k') || text.ends_with('K')) shift = 10;
  if (text.ends_with('m') || text.ends_with('M')) shift = 20;
  if (shift != 0) text.remove_suffix(1);
  if (!ParseCount(text, size) || *size > (1ull << 40)) return false;
  *size <<= shift;
  return true;
}

bool Take(char letter, std::string_view value, MemcachedOptions* options) {
  unsigned number = 0;
  unsigned long long size = 0;
  switch (letter) {
    case 'p':
      options->port = value;
      return true;
    case 'l':
      options->address = value;
      return true;
    case 's':
      options->socket = value;
      return true;
    case 'a':
      if (!ParseMode(value, &number)) return false;
      options->socket_mode = number;
      return true;
    case 't':
      if (!ParseCount(value, &number)) return false;
      options->threads = number;
      return true;
    case 'c':
      if (!ParseCount(value, &number)) return false;
      options->connections = number;
      return true;
    default:
      if (!ParseSize(value, &size)) return false;
      options->item_bytes_max = size;
      return true;
  }
}

}  // namespace

bool ParseMemcachedOptions(std::string_view text, MemcachedOptions* options, std::string* error) {
  constexpr std::string_view kUnderstood = "ptclsaI";
  const std::vector<std::string_view> words = Words(text);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "-Z" || word == "--enable-ssl") {
      options->needs_tls = true;
      continue;
    }
    if (word == "-S") {
      options->accounts = true;
      continue;
    }
    const bool has_value_after = i + 1 < words.size() && !IsOption(words[i + 1]);
    if (!IsOption(word) || kUnderstood.find(word[1]) == std::string_view::npos) {
      options->unused.emplace_back(word);
      if (IsOption(word) && word.size() == 2 && has_value_after) ++i;
      continue;
    }
    std::string_view value = word.substr(2);
    if (value.empty() && has_value_after) value = words[++i];
    if (value.empty() || !Take(word[1], value, options)) {
      *error = "daemon_memcached_option: -" + std::string(1, word[1]) + " needs a value, not '" +
               std::string(value) + "'";
      return false;
    }
  }
  return true;
}

}  // namespace rowsocket::plugin
