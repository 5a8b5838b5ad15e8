#include "engine/server/index.h"

#include <algorithm>
#include <charconv>

#include "base/require.h"
#include "engine/server/facts.h"
#include "engine/server/merge_rules.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

namespace {

bool LookUpKey(const TABLE& table, const std::string& name, bool is_number, uint* key) {
  const uint keys = table.s->keys;
  *key = keys;
  if (name.empty() || name == "PRIMARY") {
    *key = table.s->primary_key;
  } else if (is_number) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data(), end, *key);
    if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  } else {
    for (uint i = 0; i < keys; ++i) {
      if (name == NameOf(table.key_info[i])) *key = i;
    }
  }
  if (*key >= keys) return false;
  return IsSearchable(table.key_info[*key]);
}

bool LookUpFields(const TABLE& table, const std::vector<std::string>& names,
                  std::vector<uint>* fields) {
  fields->clear();
  for (const std::string& name : names) {
    Field** field = table.field;
    for (; *field != nullptr; ++field) {
      if (IsNamed(**field) && name == NameOf(**field)) break;
    }
    if (*field == nullptr) return false;
    fields->push_back(NumberOf(**field));
  }
  return true;
}

bool IsAsPinned(const TABLE& table, const IndexPin& pin) {
  uint key = 0;
  std::vector<uint> fields;
  return LookUpKey(table, pin.index, /*is_number=*/false, &key) &&
         LookUpFields(table, pin.columns, &fields) &&
         pin.Holds(FactsOf(table, table.key_info[key], fields));
}

/// Whether the list of columns that an open index keeps still gives the same columns.
bool HasListed(const TABLE& table, const IndexNames& names) {
  if (names.kept_lists == IndexNames::Lists::kNamed) return true;
  std::vector<std::string> columns = names.columns;
  const ErrorCode wrong = ColumnsOf(table, names, names.kept_lists, &columns);
  return wrong == ErrorCode::kNone && columns == names.columns;
}

}  // namespace

ErrorCode ColumnsOf(const TABLE& table, const IndexNames& names, IndexNames::Lists lists,
                    std::vector<std::string>* columns) {
  ROWSOCKET_REQUIRE(lists != IndexNames::Lists::kNamed);
  uint number = 0;
  if (!LookUpKey(table, names.index, names.index_is_number(), &number)) return ErrorCode::kIdxnum;
  if (lists == IndexNames::Lists::kNamedThatExist) {
    std::vector<uint> field;
    std::erase_if(*columns,
                  [&](const std::string& name) { return !LookUpFields(table, {name}, &field); });
    return ErrorCode::kNone;
  }
  const KeyParts parts = UserKeyParts(table.key_info[number]);
  const auto is_in_key = [&parts](uint field) {
    return std::any_of(parts.first, parts.first + parts.count,
                       [field](const auto& part) { return part.fieldnr == field + 1; });
  };
  if (lists == IndexNames::Lists::kNamedOutsideKey) {
    std::vector<uint> fields;
    const bool has_all = LookUpFields(table, *columns, &fields);
    const bool is_right = has_all && std::none_of(fields.begin(), fields.end(), is_in_key);
    return is_right ? ErrorCode::kNone : ErrorCode::kFld;
  }
  columns->clear();
  if (lists == IndexNames::Lists::kKey) {
    for (uint i = 0; i < parts.count; ++i)
      columns->emplace_back(NameOf(*table.field[parts.first[i].fieldnr - 1]));
    return ErrorCode::kNone;
  }
  for (Field** field = table.field; *field != nullptr; ++field) {
    const bool is_meant =
        !is_in_key(NumberOf(**field)) && IsNamed(**field) && !IsAddedByServer(**field);
    if (is_meant) columns->emplace_back(NameOf(**field));
  }
  return columns->size() > model::kColumnsMax ? ErrorCode::kValuesCount : ErrorCode::kNone;
}

IndexState::~IndexState() {
  for (MY_BITMAP& read_set : read_sets_) {
    if (read_set.bitmap != nullptr) FreeBitmap(&read_set);
  }
}

bool NamesOneRow(const KEY& key, std::span<const model::Value> values) {
  const KeyParts parts = UserKeyParts(key);
  return (parts.is_hash || (key.flags & HA_NOSAME)) && values.size() == parts.count &&
         std::none_of(values.begin(), values.end(),
                      [](const model::Value& value) { return value.is_null(); });
}

Outcome IndexState::ResolveForWrite(Tables& tables, OpenTable** open) {
  return Resolve(tables, Access::kWrite, open);
}

Outcome IndexState::Resolve(Tables& tables, Access access, OpenTable** open) {
  if (IsResolvedFor(access, tables)) {
    *open = opens_[At(access)];
    return {};
  }
  OpenTable* found = nullptr;
  const Outcome outcome = tables.Open(names().db, names().table, access, &found);
  if (!outcome.ok()) return outcome;
  // Both instances have one table definition within a generation: a change of the definition needs
  // an exclusive metadata lock, and this session closes all tables before anyone gets it.
  if (!IsResolved(tables)) {
    const ErrorCode error = LookUp(found->table);
    if (error != ErrorCode::kNone) return Outcome::Fail(error);
  }
  if (access == Access::kRead) {
    readers_.clear();
    for (const uint field : column_fields_) readers_.emplace_back(found->table->field[field]);
  }
  opens_[At(access)] = found;
  generations_[At(access)] = tables.generation();
  *open = found;
  return {};
}

ErrorCode IndexState::LookUp(TABLE* table) {
  if (!LookUpKey(*table, names().index, names().index_is_number(), &key_))
    return ErrorCode::kIdxnum;
  if (!LookUpFields(*table, names().columns, &column_fields_) ||
      !LookUpFields(*table, names().filter_columns, &filter_fields_)) {
    return ErrorCode::kFld;
  }
  if (!HasListed(*table, names())) return ErrorCode::kFld;
  if (names().pin != nullptr && !IsAsPinned(*table, *names().pin)) return ErrorCode::kOpenTable;
  simple_key_.Learn(table->key_info[key_]);
  LookUpAnswers(table);
  return MakeReadSets(table) ? ErrorCode::kNone : ErrorCode::kInternal;
}

const MergeRules& IndexState::merge_rules(Tables& tables, const OpenTable& open) {
  if (merge_rules_generation_ != tables.generation()) {
    merge_rules_ = FindMergeRules(open, *this);
    merge_rules_generation_ = tables.generation();
  }
  return merge_rules_;
}

// Notes which operators the engine can serve in index order. Other requests are refused rather than
// answered wrongly.
void IndexState::LookUpAnswers(const TABLE* table) {
  const KEY& key = table->key_info[key_];
  const ulong flags = table->file->index_flags(key_, 0, true);
  whole_key_parts_ = UserKeyParts(key).count;
  merges_partitions_ = false;
  for (uint i = 0; i < key.user_defined_key_parts && IsPartitioned(*table); ++i) {
    merges_partitions_ = merges_partitions_ || MergesPartitionsBy(*key.key_part[i].field);
  }
  const bool ordered = (flags & HA_READ_ORDER) && (flags & HA_READ_RANGE);
  for (const bool whole_key : {false, true}) {
    const auto set = [&](model::CompareOp op, bool can) {
      answers_[whole_key][static_cast<size_t>(op)] = can;
    };
    set(model::CompareOp::kEq, whole_key || !(flags & HA_ONLY_WHOLE_INDEX));
    set(model::CompareOp::kGt, ordered);
    set(model::CompareOp::kGe, ordered);
    set(model::CompareOp::kLt, ordered && (flags & HA_READ_PREV));
    set(model::CompareOp::kLe, ordered && (flags & HA_READ_PREV));
  }
}

bool IndexState::MakeReadSets(TABLE* table) {
  MY_BITMAP* const previous = table->read_set;
  for (const bool reads_key : {false, true}) {
    MY_BITMAP& read_set = read_sets_[reads_key];
    if (read_set.bitmap != nullptr) FreeBitmap(&read_set);
    if (!MakeBitmap(&read_set, table->s->fields)) return false;
    table->read_set = &read_set;
    if (reads_key) MarkOrderForReading(*table);
    for (uint field : column_fields_) MarkForReading(*table->field[field]);
    for (uint field : filter_fields_) MarkForReading(*table->field[field]);
    MarkRowEndForReading(*table);
    table->read_set = previous;
    covered_[reads_key] = IsCovered(table, read_set);
  }
  return true;
}

// Rows of different partitions with equal keys have the order of the primary key. The column of a
// prefix is taken from the table, because MySQL's copy of it in the index lacks the expression of a
// generated column.
void IndexState::MarkOrderForReading(const TABLE& table) const {
  const auto mark = [&table](uint number) {
    const KeyParts parts = UserKeyParts(table.key_info[number]);
    for (uint i = 0; i < parts.count; ++i) {
      MarkForReading(*table.field[parts.first[i].fieldnr - 1]);
    }
  };
  mark(key_);
  if (IsPartitioned(table) && table.s->primary_key != MAX_KEY) mark(table.s->primary_key);
}

bool IndexState::IsCovered(const TABLE* table, const MY_BITMAP& fields) const {
  if (IsPartitioned(*table) || !IsInnodb(*table)) return false;
  if (IsClustered(*table, key_) || HasGenerated(*table)) return false;
  for (uint i = 0; i < table->s->fields; ++i) {
    if (bitmap_is_set(&fields, i) && !table->field[i]->part_of_key.is_set(key_)) return false;
  }
  return true;
}

int IndexState::PrepareToRead(OpenTable& open, bool reads_key) {
  // To find the next row with the same key, other engines compare the row's key part by part.
  reads_key = reads_key || !open.is_innodb;
  if (open.positioned_for == serial_ && open.reads_key == reads_key) [[likely]]
    return 0;
  open.EndScan();
  TABLE* table = open.table;
  table->column_bitmaps_set_no_signal(&read_sets_[reads_key], &table->tmp_set);
  const int error = table->file->ha_index_init(key_, true);
  if (error != 0) return error;
  if (covered_[reads_key]) BeginKeyRead(*table, key_);
  open.positioned_for = serial_;
  open.reads_key = reads_key;
  return 0;
}

}  // namespace rowsocket::engine::server
