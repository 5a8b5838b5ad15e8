#include "engine/fake/table.h"

#include <algorithm>
#include <charconv>

namespace rowsocket::engine::fake {

using model::CompareOp;

namespace {

std::optional<int64_t> Integer(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

bool Meets(std::strong_ordering order, CompareOp op) {
  switch (op) {
    case CompareOp::kEq:
      return order == 0;
    case CompareOp::kNe:
      return order != 0;
    case CompareOp::kGt:
      return order > 0;
    case CompareOp::kGe:
      return order >= 0;
    case CompareOp::kLt:
      return order < 0;
    case CompareOp::kLe:
      return order <= 0;
  }
  return false;
}

/// Compares the first parts of the key with the given parts.
std::strong_ordering ComparePrefix(const Row& key, const Row& given) {
  for (size_t i = 0; i < given.size(); ++i) {
    const std::strong_ordering order = Compare(key[i], given[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

/// The rows whose key meets the find's operator, in the operator's direction.
std::vector<Row> ByKey(const Rows& rows, const IndexDefinition& index, CompareOp op,
                       const Row& given) {
  std::vector<Row> found;
  for (const auto& [primary_key, row] : rows) {
    if (Meets(ComparePrefix(Pick(row, index.columns), given), op)) found.push_back(row);
  }
  const auto before = [&index](const Row& a, const Row& b) {
    return RowLess()(Pick(a, index.columns), Pick(b, index.columns));
  };
  std::stable_sort(found.begin(), found.end(), before);
  if (op == CompareOp::kLt || op == CompareOp::kLe) std::reverse(found.begin(), found.end());
  return found;
}

/// The first filter that the row does not meet, or null.
const model::Filter* Unmet(const Row& row, const std::vector<uint32_t>& filter_columns,
                           const model::Find& find) {
  for (const model::Filter& filter : find.filters) {
    const Cell& cell = row[filter_columns[filter.column]];
    if (!Meets(Compare(cell, ToCell(filter.value)), filter.op)) return &filter;
  }
  return nullptr;
}

}  // namespace

std::strong_ordering Compare(const Cell& a, const Cell& b) {
  if (!a || !b) return a.has_value() <=> b.has_value();
  const std::optional<int64_t> left = Integer(*a);
  const std::optional<int64_t> right = Integer(*b);
  if (left && right) return *left <=> *right;
  if (left || right) return right.has_value() <=> left.has_value();
  return *a <=> *b;
}

bool RowLess::operator()(const Row& a, const Row& b) const {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Cell& left, const Cell& right) { return Compare(left, right) < 0; });
}

Cell ToCell(const model::Value& value) {
  return value.is_null() ? Cell() : Cell(std::string(value.text()));
}

Row Pick(const Row& row, const std::vector<uint32_t>& positions) {
  Row picked;
  for (const uint32_t position : positions) picked.push_back(row[position]);
  return picked;
}

Row PrimaryKey(const TableDefinition& table, const Row& row) {
  return Pick(row, table.indexes.front().columns);
}

IndexFacts FactsOf(const TableDefinition& table, const IndexDefinition& index,
                   const std::vector<uint32_t>& columns) {
  const auto of_column = [&table](uint32_t column) {
    const auto found = table.facts.find(table.columns[column]);
    return found != table.facts.end() ? found->second : ColumnFacts();
  };
  IndexFacts facts;
  facts.is_unique = index.is_unique || &index == table.indexes.data();
  facts.has_prefix = index.has_prefix;
  facts.is_ordered = true;
  for (const uint32_t column : index.columns) {
    facts.key_names.push_back(table.columns[column]);
    facts.key.push_back(of_column(column));
  }
  for (const uint32_t column : columns) facts.columns.push_back(of_column(column));
  return facts;
}

Rows Apply(const Rows& rows, const Changes& changes) {
  Rows applied = rows;
  for (const auto& [key, row] : changes) {
    if (row)
      applied[key] = *row;
    else
      applied.erase(key);
  }
  return applied;
}

std::vector<Row> Matching(const Rows& rows, const IndexDefinition& index,
                          const std::vector<uint32_t>& filter_columns, const model::Find& find,
                          uint64_t* rows_passed) {
  Row given;
  for (const model::Value& value : find.key) given.push_back(ToCell(value));
  std::vector<Row> candidates;
  if (find.has_in) {
    for (const model::Value& value : find.in_values) {
      given[find.in_part] = ToCell(value);
      std::vector<Row> found = ByKey(rows, index, find.op, given);
      if (!found.empty()) candidates.push_back(std::move(found.front()));
    }
  } else {
    candidates = ByKey(rows, index, find.op, given);
  }
  std::vector<Row> matching;
  uint64_t left_out = 0;
  for (Row& row : candidates) {
    if (matching.size() >= find.limit) break;
    if (rows_passed != nullptr) ++*rows_passed;
    const model::Filter* const unmet = Unmet(row, filter_columns, find);
    if (unmet != nullptr && unmet->stops_scan) break;
    if (unmet != nullptr) continue;
    if (left_out < find.offset)
      ++left_out;
    else
      matching.push_back(std::move(row));
  }
  return matching;
}

Change Modify(const model::Find& find, const std::vector<uint32_t>& columns, Row* row) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const Cell given = i < find.modifications.size() ? ToCell(find.modifications[i]) : Cell("");
    Cell& cell = (*row)[columns[i]];
    if (find.modification == model::Modification::kUpdate) {
      cell = given;
      continue;
    }
    if (!cell || !given) continue;
    const bool subtracts = find.modification == model::Modification::kDecrement;
    const int64_t before = Integer(*cell).value_or(0);
    const int64_t operand = Integer(*given).value_or(0);
    int64_t after = 0;
    if (subtracts ? __builtin_sub_overflow(before, operand, &after)
                  : __builtin_add_overflow(before, operand, &after)) {
      return Change::kOutOfRange;
    }
    const bool changes_sign = (before > 0 && after < 0) || (before < 0 && after > 0);
    if (subtracts && changes_sign) return Change::kLeftAlone;
    cell = std::to_string(after);
  }
  return Change::kChanged;
}

}  // namespace rowsocket::engine::fake
