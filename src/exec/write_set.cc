#include "exec/write_set.h"

#include <algorithm>

#include "exec/row_key.h"

namespace rowsocket::exec {

namespace {

constexpr size_t kDigitsMax = 15;

uint64_t TableHash(const engine::Index& index) {
  return HashText(HashText(0, index.names().db), index.names().table);
}

uint64_t Shape(const engine::Index& index, const model::Request& request) {
  return HashText(request.key().size(), index.names().index);
}

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsLetter(char byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

char Fold(char byte) {
  const char lower = static_cast<char>(byte | 0x20);
  switch (lower) {
    case 'j':
    case 'y':
      return 'i';
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

/// An INET6 has several texts, which may begin with a letter.
bool MayBeAddress(std::string_view text) {
  constexpr std::string_view kBytes = "0123456789abcdefABCDEF:.";
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of(kBytes) == std::string_view::npos;
}

/// False when the text says nothing.
bool AddText(std::string_view text, uint64_t* hash) {
  if (IsPlainInteger(text)) {
    *hash = HashText(*hash, text);
    return true;
  }
  if (text.empty() || !IsLetter(text[0]) || MayBeAddress(text)) return false;
  for (const char byte : text) {
    if ((byte & 0x80) != 0) return false;
    if (IsDigit(byte)) *hash = Mix(*hash + static_cast<unsigned char>(byte));
    else if (IsLetter(byte)) *hash = Mix(*hash + static_cast<unsigned char>(Fold(byte)));
  }
  return true;
}

/// False when the key may be that of any row.
bool AddKey(const model::Request& request, uint64_t* hash) {
  if (!request.names_one_row() || request.key().empty()) return false;
  for (const model::Value& value : request.key()) {
    if (value.is_null() || !AddText(value.text(), hash)) return false;
  }
  return true;
}

/// Other names only the server can compare.
bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char byte) { return (byte & 0x80) == 0; });
}

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return x == y || (IsLetter(x) && (x | 0x20) == (y | 0x20));
  });
}

}  // namespace

KeyPlaces::KeyPlaces(const engine::Index& index, const engine::IndexFacts& facts) {
  const auto changes_itself = [](const engine::ColumnFacts& column) {
    return column.is_generated || column.updates_itself;
  };
  const std::vector<std::string>& columns = index.names().columns;
  const std::vector<std::string>& key = facts.key_names;
  are_known = std::none_of(facts.key.begin(), facts.key.end(), changes_itself) &&
              std::all_of(columns.begin(), columns.end(), IsAscii) &&
              std::all_of(key.begin(), key.end(), IsAscii);
  for (const std::string& column : columns) {
    const auto part = std::find_if(key.begin(), key.end(), [&](const std::string& name) {
      return SameName(name, column);
    });
    parts.push_back(part != key.end() ? static_cast<uint32_t>(part - key.begin()) : kNoPart);
  }
}

bool KeyPlaces::MayMove(const model::Find& find) const {
  using model::Modification;
  if (find.modification == Modification::kDelete || find.modification == Modification::kNone) {
    return false;
  }
  if (!are_known) return true;
  for (size_t i = 0; i < std::min(parts.size(), find.modifications.size()); ++i) {
    if (parts[i] == kNoPart) continue;
    const model::Value& value = find.modifications[i];
    const bool stays =
        find.modification == Modification::kUpdate
            ? parts[i] < find.key.size() && SameText(value, find.key[parts[i]])
            : value.text() == "0";  // As those who count another column must give.
    if (!stays) return true;
  }
  return false;
}

void WriteSet::Clear() {
  if (tables_.empty()) return;
  tables_.clear();
  bits_.fill(0);
}

const WriteSet::Table* WriteSet::Find(uint64_t hash) const {
  for (const Table& table : tables_) {
    if (table.hash == hash) return &table;
  }
  return nullptr;
}

void WriteSet::Add(const engine::Index& index, const model::Request& request,
                   const KeyPlaces& key) {
  uint64_t hash = TableHash(index);
  const uint64_t shape = Shape(index, request);
  Table* table = const_cast<Table*>(Find(hash));
  if (table == nullptr) table = &tables_.emplace_back(Table{hash, shape, false});
  const bool moves = request.verb == model::Request::Verb::kFind && key.MayMove(request.find);
  if (table->shape != shape || moves || !AddKey(request, &hash)) table->any_row = true;
  else bits_[hash % kBits / 64] |= uint64_t{1} << (hash % 64);
}

bool WriteSet::MayConcern(const engine::Index& index, const model::Request& find) const {
  uint64_t hash = TableHash(index);
  const Table* table = Find(hash);
  if (table == nullptr) return false;
  if (table->any_row || table->shape != Shape(index, find) || !AddKey(find, &hash)) return true;
  return (bits_[hash % kBits / 64] >> (hash % 64) & 1) != 0;
}

}  // namespace rowsocket::exec
