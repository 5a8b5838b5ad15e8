#include "protocol/handlersocket/gtids.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "model/limits.h"
#include "protocol/handlersocket/line_words.h"

namespace rowsocket::handlersocket {

using model::ErrorCode;
using model::Gtid;
using model::GtidRange;

namespace {

constexpr size_t kUuidBytes = 36;

/// Takes the text before the next `separator` off the front of `list`.
std::string_view Cut(char separator, std::string_view* list) {
  const size_t end = std::min(list->find(separator), list->size());
  const std::string_view front = list->substr(0, end);
  list->remove_prefix(std::min(end + 1, list->size()));
  return front;
}

/// Reads `domain-server-number`.
std::optional<Gtid> ParseGtid(std::string_view text) {
  const size_t first = std::min(text.find('-'), text.size());
  const size_t second = std::min(text.find('-', first + 1), text.size());
  if (second == text.size()) return std::nullopt;
  const std::optional<uint64_t> domain = ParseNumber(text.substr(0, first));
  const std::optional<uint64_t> server = ParseNumber(text.substr(first + 1, second - first - 1));
  const std::optional<uint64_t> number = ParseNumber(text.substr(second + 1));
  constexpr uint64_t kIdMax = std::numeric_limits<uint32_t>::max();
  if (!domain || !server || !number || *domain > kIdMax || *server > kIdMax) return std::nullopt;
  return Gtid{static_cast<uint32_t>(*domain), static_cast<uint32_t>(*server), *number};
}

ErrorCode ParseDomains(std::string_view list, base::Arena& arena, ServerQuestion* question) {
  const size_t count = 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
  if (count > model::kGtidsMax) return ErrorCode::kValuesCount;
  const std::span<Gtid> gtids = arena.Allocate<Gtid>(count);
  for (Gtid& gtid : gtids) {
    const std::optional<Gtid> parsed = ParseGtid(Cut(',', &list));
    if (!parsed) return ErrorCode::kNumber;
    gtid = *parsed;
  }
  question->gtids = gtids;
  return ErrorCode::kNone;
}

bool IsUuid(std::string_view text) {
  if (text.size() != kUuidBytes) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char byte = text[i];
    const bool is_hex = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
                        (byte >= 'A' && byte <= 'F');
    if (is_dash ? byte != '-' : !is_hex) return false;
  }
  return true;
}

/// The name that a MySQL session may give to its transactions (gtid_next = 'AUTOMATIC:tag').
bool IsTag(std::string_view text) {
  const auto is_letter = [](char byte) {
    return byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  };
  return !text.empty() && text.size() <= model::kGtidTagBytesMax && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char byte) { return is_letter(byte) || (byte >= '0' && byte <= '9'); });
}

/// The ranges of a MySQL position, with room for the most that are allowed.
struct Ranges {
  std::array<GtidRange, model::kGtidsMax> items;
  size_t count = 0;
};

/// Adds the range `first-last`, or one number.
ErrorCode AddRange(std::string_view uuid, std::string_view tag, std::string_view text,
                   Ranges* ranges) {
  const bool is_one = text.find('-') == std::string_view::npos;
  const std::optional<uint64_t> first = ParseNumber(Cut('-', &text));
  const std::optional<uint64_t> last = is_one ? first : ParseNumber(text);
  if (!first || !last || *first == 0 || *last < *first) return ErrorCode::kNumber;
  if (ranges->count == ranges->items.size()) return ErrorCode::kValuesCount;
  ranges->items[ranges->count++] = {uuid, tag, *first, *last};
  return ErrorCode::kNone;
}

/// Adds the ranges of `uuid:range:range:tag:range`: a tag holds for the ranges after it.
ErrorCode AddSource(std::string_view source, Ranges* ranges) {
  const std::string_view uuid = Cut(':', &source);
  if (!IsUuid(uuid) || source.ends_with(':')) return ErrorCode::kNumber;
  std::string_view tag;
  bool needs_range = true;
  while (!source.empty() || needs_range) {
    const std::string_view item = Cut(':', &source);
    needs_range = IsTag(item);
    if (needs_range) {
      tag = item;
      continue;
    }
    const ErrorCode error = AddRange(uuid, tag, item, ranges);
    if (error != ErrorCode::kNone) return error;
  }
  return ErrorCode::kNone;
}

ErrorCode ParseSources(std::string_view list, base::Arena& arena, ServerQuestion* question) {
  Ranges ranges;
  const auto sources = 1 + std::count(list.begin(), list.end(), ',');
  for (auto i = sources; i > 0; --i) {
    const ErrorCode error = AddSource(Cut(',', &list), &ranges);
    if (error != ErrorCode::kNone) return error;
  }
  const std::span<GtidRange> kept = arena.Allocate<GtidRange>(ranges.count);
  std::copy_n(ranges.items.begin(), ranges.count, kept.begin());
  question->gtid_ranges = kept;
  return ErrorCode::kNone;
}

}  // namespace

ErrorCode ParseGtids(std::string_view list, base::Arena& arena, ServerQuestion* question) {
  const bool is_mysql = list.find(':') != std::string_view::npos;
  return is_mysql ? ParseSources(list, arena, question) : ParseDomains(list, arena, question);
}

}  // namespace rowsocket::handlersocket
