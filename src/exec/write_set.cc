#include "exec/write_set.h"

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

/// False when the text says nothing.
bool AddText(std::string_view text, uint64_t* hash) {
  if (IsPlainInteger(text)) {
    *hash = HashText(*hash, text);
    return true;
  }
  if (text.empty() || !IsLetter(text[0])) return false;
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

}  // namespace

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

void WriteSet::Add(const engine::Index& index, const model::Request& request) {
  uint64_t hash = TableHash(index);
  const uint64_t shape = Shape(index, request);
  Table* table = const_cast<Table*>(Find(hash));
  if (table == nullptr) table = &tables_.emplace_back(Table{hash, shape, false});
  if (table->shape != shape || !AddKey(request, &hash)) table->any_row = true;
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
