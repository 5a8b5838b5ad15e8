#include "frontend/resp/random_fields.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "frontend/resp/command.h"
#include "frontend/resp/numbers.h"

namespace rowsocket::frontend {

namespace {
/// Bytes of an empty bulk string.
constexpr size_t kBulkBytesMin = 6;
}  // namespace

std::string_view TakeRandomFields(RespCall& call, base::Arena& arena) {
  constexpr int64_t kHalf = std::numeric_limits<int64_t>::max() / 2;
  const auto& arguments = call.arguments;
  RespFieldList& list = *(call.field_list = &arena.Allocate<RespFieldList>(1)[0]);
  list.without_values = true;
  list.has_count = arguments.size() > 2;
  if (!list.has_count) return {};
  if (!ParsePlainInteger(arguments[2], &list.count)) return kNoInteger;
  if (list.count == std::numeric_limits<int64_t>::min()) {
    return "ERR value is out of range, value must between -9223372036854775807 and "
           "9223372036854775807";
  }
  if (arguments.size() == 3) return {};
  if (arguments.size() > 4 || !IsWord(arguments[3], "withvalues")) return kSyntax;
  list.without_values = false;
  return list.count < -kHalf || list.count > kHalf ? "ERR value is out of range"
                                                   : std::string_view();
}

bool AppendRandomFields(resp::Version version, const RespCall& call,
                        std::span<const RespField> fields, size_t bytes_max, base::Buffer* out) {
  const RespFieldList& list = *call.field_list;
  const size_t begin = out->size();
  if (!list.has_count) {
    if (fields.empty())
      resp::AppendNil(version, out);
    else
      resp::AppendBulk(fields[RandomNumber(fields.size())].first, out);
    return true;
  }
  const bool repeats = list.count < 0;
  const auto wanted = static_cast<uint64_t>(repeats ? -list.count : list.count);
  const uint64_t count = fields.empty() ? 0
                         : repeats      ? wanted
                                        : std::min<uint64_t>(wanted, fields.size());
  // A few bytes may ask for any number of fields: too many of them are not chosen first.
  size_t shortest = SIZE_MAX;
  for (const auto& [name, value] : fields) {
    shortest = std::min(shortest, kBulkBytesMin + name.size() +
                                      (list.without_values ? 0 : kBulkBytesMin + value.size()));
  }
  if (count > bytes_max / shortest) return false;
  const bool makes_pairs = !list.without_values && version == resp::Version::k3;
  resp::AppendArray(count * (list.without_values || makes_pairs ? 1 : 2), out);
  std::vector<size_t> order(fields.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (uint64_t i = 0; i < count && out->size() - begin <= bytes_max; ++i) {
    const size_t first = repeats ? 0 : i;
    const size_t chosen = first + RandomNumber(fields.size() - first);
    if (!repeats) std::swap(order[first], order[chosen]);
    const auto& [name, value] = fields[order[repeats ? chosen : first]];
    if (makes_pairs) resp::AppendArray(2, out);
    resp::AppendBulk(name, out);
    if (!list.without_values) resp::AppendBulk(value, out);
  }
  return out->size() - begin <= bytes_max;
}

}  // namespace rowsocket::frontend
