#include "frontend/resp/key.h"

#include <algorithm>
#include <charconv>

#include "model/limits.h"

namespace rowsocket::frontend {

namespace {

/// The text without its escapes; `*is_wrong`: a backslash in it escapes nothing.
std::string_view Unescape(std::string_view text, base::Arena& arena, bool* is_wrong) {
  if (text.find('\\') == std::string_view::npos) return text;
  char* const kept = arena.AllocateBytes(text.size());
  size_t size = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\';
    if (is_escape && (++i == text.size() || (text[i] != ':' && text[i] != '\\'))) {
      *is_wrong = true;
      return {};
    }
    kept[size++] = text[i];
  }
  return {kept, size};
}

/// The offset of the next colon that is not escaped.
size_t FindColon(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == ':')
      return i;
  }
  return text.size();
}

}  // namespace

void ParseRespParts(std::string_view text, base::Arena& arena, RespKey* key) {
  size_t count = 1;
  if (std::none_of(text.begin(), text.end(),
                   [](char byte) { return byte == ':' || byte == '\\'; })) {
    key->parts = arena.Allocate<model::Value>(1);
    key->parts[0] = model::Value(text);
    return;
  }
  for (size_t i = FindColon(text); i < text.size(); i += 1 + FindColon(text.substr(i + 1))) ++count;
  key->parts = arena.Allocate<model::Value>(count);
  for (model::Value& part : key->parts) {
    const size_t end = FindColon(text);
    part = model::Value(Unescape(text.substr(0, end), arena, &key->has_wrong_escape));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool ParseRespKey(std::string_view text, std::string_view schema, base::Arena& arena,
                  RespKey* key) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view table = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  const size_t at = table.find('@');
  if (at != std::string_view::npos) {
    key->index = table.substr(at + 1);
    table = table.substr(0, at);
  }
  const size_t dot = table.find('.');
  key->db = dot == std::string_view::npos ? schema : table.substr(0, dot);
  key->table = dot == std::string_view::npos ? table : table.substr(dot + 1);
  if (key->db.empty() || key->table.empty()) return false;
  // No table has such a long name, and a connection would keep it with what it has found about it.
  for (const std::string_view name : {key->db, key->table, key->index}) {
    if (name.size() > model::kNameBytesMax) return false;
  }
  ParseRespParts(rest, arena, key);
  return true;
}

bool IsUncanonicalNumber(std::string_view text) {
  if (text.empty()) return true;
  if (text == "0") return false;
  if (text.front() == '-') text.remove_prefix(1);
  return text.empty() || text.front() < '1' || text.front() > '9' ||
         !std::all_of(text.begin(), text.end(),
                      [](char byte) { return byte >= '0' && byte <= '9'; });
}

}  // namespace rowsocket::frontend
