#include "keyspace/container.h"

#include <algorithm>

#include "model/limits.h"

namespace rowsocket::keyspace {

using engine::ColumnFacts;
using engine::Outcome;
using model::ErrorCode;
using Kind = engine::ColumnFacts::Kind;

namespace {

/// The bytes that end a name in `key_columns` and `value_columns`.
constexpr std::string_view kColumnSeparators = ",;| \t";
constexpr uint32_t kMillisecondDecimals = 3;
/// 9999-12-31 23:59:59.999999 and 2038-01-19 03:14:07.999999 in microseconds since 1970.
constexpr uint64_t kDateTimeMaxUs = 253'402'300'799'999'999;
constexpr uint64_t kTimestampMaxUs = 2'147'483'647'999'999;

/// Makes one container.
class ContainerMaker {
 public:
  ContainerMaker(engine::Session& session, const ContainerDefinition& definition,
                 const Container* before, Container* container)
      : session_(session), definition_(definition), before_(before), container_(*container) {}

  /// Makes the container; what is wrong with the definition goes into Container::problem. An
  /// outcome that is not ok says why the table, or an index of it, could not be opened.
  Outcome Make() {
    if (definition_.is_expiring_rows) return MakeExpiringRows();
    key_columns_ = SplitNames(definition_.key_columns, kColumnSeparators);
    value_columns_ = SplitNames(definition_.value_columns, kColumnSeparators);
    if (!CheckNames() || !CheckSeparator()) return {};
    Outcome outcome = OpenRows();
    if (outcome.ok() && container_.usable()) outcome = PinTable();
    if (!outcome.ok() || !container_.usable()) return outcome;
    if (!CheckKey() || !CheckColumns()) return {};
    return OpenLayouts();
  }

 private:
  Outcome MakeExpiringRows() {
    Outcome outcome = OpenRows();
    if (outcome.ok() && container_.usable()) outcome = PinTable();
    if (!outcome.ok() || !container_.usable()) return outcome;
    if (!CheckKeyOfExpiringRows() || !CheckExpiry()) return {};
    container_.values = 0;
    container_.full_layout = {.expiry = 0, .value = 1, .columns = 1};
    outcome = Open({definition_.expire_time_column}, &container_.full_index);
    return outcome.ok() ? OpenKeys() : outcome;
  }

  std::string TableName() const { return definition_.db + "." + definition_.table; }
  /// Returns false, so that a check may end with it.
  bool Disable(std::string why) {
    container_.problem = std::move(why);
    return false;
  }

  bool CheckNames() {
    if (definition_.db.empty() || definition_.table.empty()) {
      return Disable("db_schema and db_table must name a table");
    }
    if (key_columns_.empty()) return Disable("key_columns is empty");
    if (value_columns_.empty()) return Disable("value_columns is empty");
    if (key_columns_.size() > model::kKeyPartsMax)
      return Disable("key_columns names too many columns");
    if (value_columns_.size() > model::kContainerValuesMax) {
      return Disable("value_columns names more than " + std::to_string(model::kContainerValuesMax) +
                     " columns");
    }
    return true;
  }

  /// Refuses a container of several columns without a valid separator: with any other separator,
  /// clients would read and write other columns than they mean.
  bool CheckSeparator() {
    if (container_.separator != '\0') return true;
    if (key_columns_.size() == 1 && value_columns_.size() == 1) return true;
    return Disable(
        "separator in innodb_memcache.config_options must be one visible character other "
        "than a backslash or N");
  }

  /// Opens all mapped columns in the order of Container::full_layout, with the key's columns.
  Outcome OpenRows() {
    std::vector<std::string> columns;
    for (const std::string* name :
         {&definition_.expire_time_column, &definition_.flags, &definition_.cas_column}) {
      if (!name->empty()) columns.push_back(*name);
    }
    columns.insert(columns.end(), key_columns_.begin(), key_columns_.end());
    columns.insert(columns.end(), value_columns_.begin(), value_columns_.end());
    std::vector<std::string> sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      Disable("column " + *twice + " is named twice");
      return {};
    }
    const Outcome outcome = Open(columns, &rows_);
    if (outcome.ok() || IsLockedOrKilled(outcome)) return outcome;
    Explain(outcome.error, columns);
    return {};
  }

  /// Inspects the table, and has the container depend on what the table is now.
  Outcome PinTable() {
    auto pin = std::make_shared<engine::IndexPin>();
    pin->index = definition_.index;
    pin->columns = rows_->names().columns;
    const Outcome outcome = session_.Inspect(*rows_, &pin->facts);
    if (!outcome.ok()) return outcome;
    const bool is_as_before =
        before_ != nullptr && before_->pin != nullptr && before_->pin->Holds(pin->facts);
    container_.pin = is_as_before ? before_->pin : std::move(pin);
    return outcome;
  }

  /// Opens the unique index. Its requests fail while the table differs from what PinTable has seen,
  /// once PinTable has run.
  Outcome Open(const std::vector<std::string>& columns, std::shared_ptr<engine::Index>* index) {
    return session_.OpenIndex(NamesOf(columns), index);
  }

  engine::IndexNames NamesOf(const std::vector<std::string>& columns) const {
    engine::IndexNames names{definition_.db, definition_.table, definition_.index, columns, {},
                             container_.pin};
    names.index_is_name = true;
    return names;
  }

  void Explain(const model::Error& error, const std::vector<std::string>& columns) {
    switch (error.code) {
      case ErrorCode::kOpenTable:
        Disable(IsNoTable(error) ? "there is no table " + TableName()
                                 : "the server cannot open " + TableName() + " (error " +
                                       std::to_string(error.number) + ")");
        return;
      case ErrorCode::kView:
        Disable(TableName() + " is a view");
        return;
      case ErrorCode::kSequence:
        Disable(TableName() + " is a sequence");
        return;
      case ErrorCode::kSystemTable:
        Disable(TableName() + " is a table of the server");
        return;
      case ErrorCode::kTableEngine:
        Disable(TableName() + " has a storage engine that SQL's HANDLER cannot use either");
        return;
      case ErrorCode::kIdxnum:
        Disable(TableName() + " has no index " + definition_.index +
                (definition_.is_expiring_rows ? "" : " (unique_idx_name_on_key)"));
        return;
      default:
        break;
    }
    for (const std::string& column : columns) {
      std::shared_ptr<engine::Index> index;
      if (Open({column}, &index).error.code != ErrorCode::kFld) continue;
      Disable(TableName() + " has no column " + column);
      return;
    }
    Disable(TableName() + " cannot be opened: " + std::string(model::Name(error.code)));
  }

  size_t PlaceOf(const std::string& name) const {
    const auto& columns = rows_->names().columns;
    return static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  }
  const ColumnFacts& FactsOf(const std::string& name) const {
    return container_.pin->facts.columns[PlaceOf(name)];
  }

  bool CheckIndex() {
    const engine::IndexFacts& facts = container_.pin->facts;
    if (!facts.is_unique) return Disable("index " + definition_.index + " is not unique");
    if (facts.has_prefix)
      return Disable("index " + definition_.index + " is over part of a column");
    // The purge and flush_all go through the rows in this order.
    if (!facts.is_ordered) {
      return Disable(
          "index " + definition_.index +
          " is a hash, as UNIQUE over TEXT and BLOB is: make the key VARCHAR or VARBINARY");
    }
    return true;
  }

  /// Any columns will do: a row is found by its key as SQL's `=` finds it.
  bool CheckKeyOfExpiringRows() {
    if (!CheckIndex()) return false;
    const engine::IndexFacts& facts = container_.pin->facts;
    const std::string& expiry = definition_.expire_time_column;
    if (std::find(facts.key_names.begin(), facts.key_names.end(), expiry) != facts.key_names.end())
      return Disable("column " + expiry + " is part of the key");
    for (size_t i = 0; i < facts.key.size(); ++i) {
      container_.key.push_back({facts.key[i].kind == Kind::kInteger, facts.key[i].pads, i});
    }
    return true;
  }

  bool CheckKey() {
    if (!CheckIndex()) return false;
    const engine::IndexFacts& facts = container_.pin->facts;
    std::vector<std::string> named = key_columns_, indexed = facts.key_names;
    std::sort(named.begin(), named.end());
    std::sort(indexed.begin(), indexed.end());
    if (named != indexed) {
      return Disable("index " + definition_.index + " is not over exactly the key_columns");
    }
    for (const std::string& name : key_columns_) {
      const auto& names = facts.key_names;
      KeyPart part;
      part.index_part =
          static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      const ColumnFacts& column = facts.key[part.index_part];
      if (!CheckKeyColumn(name, column)) return false;
      part.is_integer = column.kind == Kind::kInteger;
      part.pads = column.pads;
      container_.verifies_key = container_.verifies_key || column.kind == Kind::kText;
      container_.key.push_back(part);
    }
    return true;
  }

  bool CheckKeyColumn(const std::string& name, const ColumnFacts& column) {
    if (column.is_generated) return Disable("key column " + name + " is generated");
    if (column.kind == Kind::kInteger || column.kind == Kind::kBytes) return true;
    if (column.kind != Kind::kText) {
      return Disable("key column " + name +
                     " must be VARBINARY, an integer, or a text with a binary "
                     "collation");
    }
    if (column.is_binary) return true;
    return Disable("key column " + name +
                   " has a collation that takes different keys for equal: "
                   "make it VARBINARY, or give it a binary collation such as utf8mb4_bin");
  }

  bool CheckColumns() {
    for (const std::string& name : value_columns_) {
      const ColumnFacts& column = FactsOf(name);
      if (column.is_generated) return Disable("value column " + name + " is generated");
      container_.keeps_bytes = container_.keeps_bytes &&
                               (column.kind == Kind::kBytes || column.kind == Kind::kPaddedBytes ||
                                column.kind == Kind::kText);
    }
    return CheckFlags() && CheckCas() && CheckExpiry();
  }

  bool CheckFlags() {
    if (definition_.flags.empty()) return true;
    container_.has_flags = true;
    const ColumnFacts& column = FactsOf(definition_.flags);
    if (column.is_generated) return Disable("flags column " + definition_.flags + " is generated");
    if (column.kind == Kind::kInteger) return true;
    return Disable("flags column " + definition_.flags + " must be an integer");
  }

  bool CheckCas() {
    if (definition_.cas_column.empty()) return true;
    const ColumnFacts& column = FactsOf(definition_.cas_column);
    if (column.is_generated)
      return Disable("cas_column " + definition_.cas_column + " is generated");
    const bool is_time = column.kind == Kind::kDateTime || column.kind == Kind::kTimestamp;
    if (column.kind == Kind::kInteger && column.bytes >= sizeof(uint64_t)) {
      container_.cas_kind = CasKind::kNumber;
      container_.cas_max = column.is_unsigned ? UINT64_MAX : INT64_MAX;
      return true;
    }
    if (is_time && column.decimals == 6) {
      container_.cas_kind = CasKind::kTime;
      container_.cas_max_is_utc = column.kind == Kind::kTimestamp;
      container_.cas_max = container_.cas_max_is_utc ? kTimestampMaxUs : kDateTimeMaxUs;
      return true;
    }
    return Disable("cas_column " + definition_.cas_column +
                   " must be BIGINT UNSIGNED or DATETIME(6)");
  }

  /// Notes how fine the column is, so that an expiry is rounded up before it is stored: the server
  /// would round a DECIMAL to the nearest value, which may be earlier.
  void LearnExpiryStep(uint32_t decimals) {
    for (uint32_t i = decimals; i < kMillisecondDecimals; ++i) container_.expiry_step_ms *= 10;
  }

  bool CheckExpiry() {
    if (definition_.expire_time_column.empty()) return true;
    const ColumnFacts& column = FactsOf(definition_.expire_time_column);
    const std::string title = (definition_.is_expiring_rows ? "column " : "expire_time_column ") +
                              definition_.expire_time_column;
    if (column.is_generated) return Disable(title + " is generated");
    container_.expiry_is_nullable = column.is_nullable;
    container_.expiry_index_name = column.index;
    if (definition_.is_store) {
      container_.expiry = ExpiryKind::kMilliseconds;
      return column.kind == Kind::kInteger ||
             Disable("column " + definition_.expire_time_column + " must be an integer");
    }
    if (column.kind == Kind::kInteger || (column.kind == Kind::kDecimal && column.decimals == 0)) {
      container_.expiry = ExpiryKind::kSeconds;
      return true;
    }
    if (column.kind == Kind::kDecimal) {
      container_.expiry = ExpiryKind::kFraction;
      LearnExpiryStep(column.decimals);
      return true;
    }
    return Disable(title + " must be an integer or DECIMAL of seconds since 1970");
  }

  Outcome OpenLayout(bool with_cas, Layout* layout, std::shared_ptr<engine::Index>* index) {
    std::vector<std::string> columns;
    const auto add = [&columns](const std::string& name) {
      columns.push_back(name);
      return static_cast<uint32_t>(columns.size() - 1);
    };
    if (!definition_.expire_time_column.empty())
      layout->expiry = add(definition_.expire_time_column);
    if (container_.has_flags) layout->flags = add(definition_.flags);
    if (with_cas && container_.cas_kind != CasKind::kHash) {
      layout->cas = add(definition_.cas_column);
    }
    if (container_.verifies_key) {
      layout->key = static_cast<uint32_t>(columns.size());
      columns.insert(columns.end(), key_columns_.begin(), key_columns_.end());
    }
    layout->value = static_cast<uint32_t>(columns.size());
    columns.insert(columns.end(), value_columns_.begin(), value_columns_.end());
    layout->columns = static_cast<uint32_t>(columns.size());
    return Open(columns, index);
  }

  Outcome OpenLayouts() {
    container_.values = static_cast<uint32_t>(value_columns_.size());
    Outcome outcome = OpenLayout(true, &container_.full_layout, &container_.full_index);
    if (outcome.ok()) outcome = OpenLayout(false, &container_.get_layout, &container_.get_index);
    if (outcome.ok()) outcome = OpenKeys();
    return outcome;
  }

  Outcome OpenKeys() {
    engine::IndexNames names = NamesOf({});
    if (!definition_.expire_time_column.empty()) {
      names.columns.push_back(definition_.expire_time_column);
    }
    const auto& key = container_.pin->facts.key_names;
    names.columns.insert(names.columns.end(), key.begin(), key.end());
    const Outcome outcome = session_.OpenIndex(names, &container_.key_index);
    if (!outcome.ok() || container_.expiry_index_name.empty()) return outcome;
    names.index = container_.expiry_index_name;
    names.filter_columns.push_back(definition_.expire_time_column);
    return session_.OpenIndex(names, &container_.expiry_index);
  }

  engine::Session& session_;
  const ContainerDefinition& definition_;
  const Container* const before_;
  Container& container_;
  std::vector<std::string> key_columns_;
  std::vector<std::string> value_columns_;
  std::shared_ptr<engine::Index> rows_;
};

}  // namespace

Outcome MakeContainer(engine::Session& session, const ContainerDefinition& definition,
                      const Options& options, std::shared_ptr<ContainerState> state,
                      const Container* before, std::shared_ptr<const Container>* made) {
  auto container = std::make_shared<Container>();
  container->definition = definition;
  container->state = std::move(state);
  container->separator = options.separator;
  container->relaxed = std::find(options.relaxed.begin(), options.relaxed.end(), definition.name) !=
                       options.relaxed.end();
  const Outcome outcome = ContainerMaker(session, definition, before, container.get()).Make();
  const bool is_busy = IsLockedOrKilled(outcome);
  if (!outcome.ok() && !is_busy && container->usable()) {
    container->problem =
        "its table cannot be opened: " + std::string(model::Name(outcome.error.code));
  }
  *made = std::move(container);
  return is_busy ? outcome : Outcome();
}

}  // namespace rowsocket::keyspace
