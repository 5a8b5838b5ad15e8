#include "exec/write_set.h"

#include <algorithm>

#include "exec/row_name.h"

namespace rowsocket::exec {

namespace {

constexpr size_t kDigitsMax = 15;
/// Letters of the Hungarian cs dz dzs gy ly ny sz ty zs, as Fold gives them. Of a run of such
/// letters only the set counts, because a collation takes `ccs` for `cscs`.
constexpr std::string_view kInPairs = "cdgilnstz";

uint64_t TableHash(const engine::Index& index) {
  return HashText(HashText(0, index.names().db), index.names().table);
}

/// The hash of the name of the row's index and of the number of its key parts.
uint64_t IndexHash(const RowName& row) {
  const engine::IndexNames& names = row.index().names();
  return HashText(2 * row.key().size() + names.index_is_number(), names.index);
}

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsLetter(char byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

/// A letter by which those that some collation takes for the same are one (write_set.h). m is n in
/// macce_general_ci.
char Fold(char byte) {
  const char lower = static_cast<char>(byte | 0x20);
  switch (lower) {
    case 'j':
    case 'y':
      return 'i';
    case 'm':
      return 'n';
    case 'v':
    case 'w':
      return 'u';
    default:
      return lower;
  }
}

bool IsPlainInteger(std::string_view text) {
  if (text.empty() || text.size() > kDigitsMax || (text[0] == '0' && text.size() > 1)) return false;
  for (const char byte : text) {
    if (!IsDigit(byte)) return false;
  }
  return true;
}

/// Whether the text may be an INET6, which has several texts, some of which begin with a letter.
bool MayBeAddress(std::string_view text) {
  constexpr std::string_view kBytes = "0123456789abcdefABCDEF:.";
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of(kBytes) == std::string_view::npos;
}

/// Adds the text to the hash. False when texts like this one may have equal values.
bool AddText(std::string_view text, uint64_t* hash) {
  if (IsPlainInteger(text)) {
    *hash = HashText(*hash, text);
    return true;
  }
  if (text.empty() || !IsLetter(text[0]) || MayBeAddress(text)) return false;
  uint32_t run = 0;  // The letters of kInPairs since the last other letter or digit, as bits.
  char last = 0;
  for (const char byte : text) {
    if ((byte & 0x80) != 0) return false;
    if (!IsDigit(byte) && !IsLetter(byte)) continue;
    const char letter = IsDigit(byte) ? byte : Fold(byte);
    const bool is_after_c = letter == 'h' && last == 'c';
    last = letter;
    if (is_after_c) continue;
    if (kInPairs.find(letter) != std::string_view::npos) {
      run |= uint32_t{1} << (letter - 'a');
      continue;
    }
    *hash = Mix(Mix(*hash + run) + static_cast<unsigned char>(letter));
    run = 0;
  }
  *hash = Mix(*hash + run);
  return true;
}

/// Adds the key to the hash. False when the key may name any row.
bool AddKey(const RowName& row, uint64_t* hash) {
  if (!row.is_row()) return false;
  for (const model::Value& value : row.key()) {
    if (value.is_null() || !AddText(value.text(), hash)) return false;
  }
  return true;
}

/// Whether different texts are different values in the column. Some types have values with several
/// texts that begin with a letter or are decimal integers.
bool IsTextByText(const engine::ColumnFacts& column) {
  using Kind = engine::ColumnFacts::Kind;
  switch (column.kind) {
    case Kind::kFloat:
    case Kind::kDateTime:
    case Kind::kTimestamp:
    case Kind::kOther:
      return false;
    case Kind::kBytes:
    case Kind::kPaddedBytes:
    case Kind::kText:
    case Kind::kInteger:
    case Kind::kDecimal:
      return true;
  }
  return false;
}

/// Only the server can compare names that are not ASCII.
bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char byte) { return (byte & 0x80) == 0; });
}

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || (IsLetter(x) && (x | 0x20) == (y | 0x20));
  });
}

}  // namespace

KeyColumns::KeyColumns(const engine::Index& index, const engine::IndexFacts& facts) {
  const auto changes_itself = [](const engine::ColumnFacts& column) {
    return column.is_generated || column.updates_itself;
  };
  const std::vector<std::string>& columns = index.names().columns;
  const std::vector<std::string>& key = facts.key_names;
  are_known = std::none_of(facts.key.begin(), facts.key.end(), changes_itself) &&
              std::all_of(columns.begin(), columns.end(), IsAscii) &&
              std::all_of(key.begin(), key.end(), IsAscii);
  is_text_by_text = std::all_of(facts.key.begin(), facts.key.end(), IsTextByText);
  is_referenced = facts.is_referenced;
  changes_other_keys = facts.has_key_that_follows;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto part = std::find_if(key.begin(), key.end(), [&](const std::string& name) {
      return SameName(name, columns[i]);
    });
    parts.push_back(part != key.end() ? static_cast<uint32_t>(part - key.begin()) : kNoPart);
    const bool is_in_key = i >= facts.columns.size() || facts.columns[i].is_in_key;
    changes_other_keys = changes_other_keys || (part == key.end() && is_in_key);
  }
}

bool KeyColumns::MayMove(const model::Find& find) const {
  using model::Modification;
  if (find.modification == Modification::kDelete || find.modification == Modification::kNone) {
    return false;
  }
  if (!are_known) return true;
  for (size_t i = 0; i < std::min(parts.size(), find.modifications.size()); ++i) {
    if (parts[i] == kNoPart) continue;
    const model::Value& value = find.modifications[i];
    const bool stays = find.modification == Modification::kUpdate
                           ? parts[i] < find.key.size() && SameText(value, find.key[parts[i]])
                           : value.text() == "0";  // 0 leaves the key as it is.
    if (!stays) return true;
  }
  return false;
}

bool KeyColumns::MayCascade(const model::Request& request) const {
  using model::Modification;
  if (!is_referenced || request.verb == model::Request::Verb::kInsert) return false;
  if (request.verb == model::Request::Verb::kEdit) return true;
  return request.find.modification == Modification::kDelete || changes_other_keys ||
         MayMove(request.find);
}

void WriteSet::Clear() {
  if (tables_.empty()) return;
  any_table_ = false;
  tables_.clear();
  bits_.fill(0);
}

const WriteSet::Table* WriteSet::Find(uint64_t hash) const {
  for (const Table& table : tables_) {
    if (table.hash == hash) return &table;
  }
  return nullptr;
}

WriteSet::Table& WriteSet::FindOrAdd(uint64_t hash, uint64_t index_hash) {
  const Table* found = Find(hash);
  return found != nullptr ? const_cast<Table&>(*found)
                          : tables_.emplace_back(Table{hash, index_hash, false});
}

void WriteSet::AddAnyRow(const engine::Index& index) {
  FindOrAdd(TableHash(index), 0).any_row = true;
}

void WriteSet::Add(const engine::Index& index, const model::Request& request,
                   const KeyColumns& key) {
  uint64_t hash = TableHash(index);
  const RowName row(index, request);
  const uint64_t index_hash = IndexHash(row);
  Table& table = FindOrAdd(hash, index_hash);
  any_table_ = any_table_ || key.MayCascade(request);
  const bool moves = request.verb == model::Request::Verb::kFind && key.MayMove(request.find);
  const bool names_row = key.is_text_by_text && AddKey(row, &hash);
  if (table.index_hash != index_hash || moves || !names_row)
    table.any_row = true;
  else
    bits_[hash % kBits / 64] |= uint64_t{1} << (hash % 64);
}

bool WriteSet::MayConcern(const RowName& row) const {
  if (any_table_) return true;
  uint64_t hash = TableHash(row.index());
  const Table* table = Find(hash);
  if (table == nullptr) return false;
  if (table->any_row || table->index_hash != IndexHash(row) || !AddKey(row, &hash)) return true;
  return (bits_[hash % kBits / 64] >> (hash % 64) & 1) != 0;
}

}  // namespace rowsocket::exec
