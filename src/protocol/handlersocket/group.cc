#include "protocol/handlersocket/group.h"

#include <algorithm>

#include "protocol/handlersocket/line_words.h"

namespace rowsocket::handlersocket {

bool IsGroup(std::string_view line) {
  return line.starts_with('G') && (line.size() == 1 || line[1] == '\t');
}

std::optional<size_t> ParseGroup(std::string_view line) {
  LineWords words(line);
  words.NextOrEmpty();
  const std::optional<uint64_t> count = ParseNumber(words.NextOrEmpty());
  if (!count || *count == 0 || *count > model::kGroupRequestsMax) return std::nullopt;
  return static_cast<size_t>(*count);
}

std::optional<size_t> GroupLines::End(std::string_view input, size_t begin, size_t count) {
  scanned_ = std::max(scanned_, begin);
  while (found_ < count) {
    const size_t end = input.find('\n', scanned_);
    if (end == std::string_view::npos) {
      scanned_ = input.size();
      return std::nullopt;
    }
    scanned_ = end + 1;
    ++found_;
  }
  const size_t end = scanned_;
  Reset();
  return end;
}

GroupRequest NextGroupRequest(std::string_view* lines, const model::Limits& limits,
                              base::Arena& arena) {
  const size_t size = std::min(lines->find('\n'), lines->size());
  GroupRequest request;
  std::string_view line = lines->substr(0, size);
  lines->remove_prefix(std::min(size + 1, lines->size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool is_request = line.starts_with("R\t") || line.starts_with("O\t");
  if (!is_request) {
    request.command.errors.Add(model::ErrorCode::kGroup);
    return request;
  }
  request.is_required = line.front() == 'R';
  request.line = line.substr(2);
  request.command = ParseLine(request.line, limits, arena);
  if (request.command.kind != Command::Kind::kRequest) {
    request.command = Command();
    request.command.errors.Add(model::ErrorCode::kGroup);
  }
  return request;
}

}  // namespace rowsocket::handlersocket
