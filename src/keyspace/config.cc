#include "keyspace/config.h"

#include <algorithm>

#include "model/limits.h"

namespace rowsocket::keyspace {

using engine::Outcome;
using model::ErrorCode;

namespace {

using Row = std::vector<std::string>;

/// The bytes that end a name in `fields`; `;` and `|` may be part of a name there.
constexpr std::string_view kFieldSeparators = ", ";

/// Takes the cells of a find, row by row; NULL becomes empty.
class Rows final : public model::RowSink {
 public:
  explicit Rows(size_t columns) : columns_(columns) {}

  bool Cell(std::string_view text) override {
    if (rows.empty() || rows.back().size() == columns_) rows.emplace_back();
    rows.back().emplace_back(text);
    return true;
  }
  bool NullCell() override { return Cell({}); }

  std::vector<Row> rows;

 private:
  const size_t columns_;
};

struct MappingTable {
  std::string_view schema;
  const char* name;
  std::vector<std::string> columns;
};

const MappingTable& Containers() {
  static const MappingTable table{
      kContainersSchema,
      "containers",
      {"name", "db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column",
       "expire_time_column", "unique_idx_name_on_key"}};
  return table;
}
const MappingTable& Policies() {
  static const MappingTable table{kContainersSchema,
                                  "cache_policies",
                                  {"get_policy", "set_policy", "delete_policy", "flush_policy"}};
  return table;
}
const MappingTable& ConfigOptions() {
  static const MappingTable table{kContainersSchema, "config_options", {"name", "value"}};
  return table;
}
const MappingTable& KeyspaceTable() {
  static const MappingTable table{kRowsocketSchema,
                                  "keyspaces",
                                  {"prefix", "kind", "container", "db_schema", "db_table",
                                   "db_index", "fields", "if_absent", "read_only", "expires"}};
  return table;
}
/// The table of keyspaces as the script of an older version has made it.
const MappingTable& KeyspaceTableWithoutExpiry() {
  static const MappingTable table = [] {
    MappingTable old = KeyspaceTable();
    old.columns.pop_back();
    return old;
  }();
  return table;
}

std::string NameOf(const MappingTable& table) {
  return std::string(table.schema) + "." + table.name;
}

Outcome Open(engine::Session& session, const MappingTable& table,
             std::shared_ptr<engine::Index>* index) {
  return session.OpenIndex({std::string(table.schema), table.name, "PRIMARY", table.columns, {}},
                           index);
}

/// Whether a failure to open a mapping table says nothing about its rows: it is locked
/// (IsLockedOrKilled), or the server cannot open it now, because it lacks memory or files, for
/// instance. Its rows must not count as deleted: requests would go to other tables.
bool LeavesRowsUnknown(const Outcome& outcome) {
  const bool cannot_open =
      outcome.error.code == ErrorCode::kOpenTable && !model::IsNoTable(outcome.error);
  return IsLockedOrKilled(outcome) || cannot_open;
}

/// Reads one row more than is served, to see whether there are more.
Outcome ReadAll(engine::Session& session, const std::shared_ptr<engine::Index>& index,
                std::vector<Row>* rows) {
  if (index == nullptr) return {};
  model::Request request;
  request.find.op = model::CompareOp::kGe;
  request.find.limit = model::kMappingRowsMax + 1;
  Rows sink(index->columns());
  const Outcome outcome = session.Execute(*index, request, sink);
  if (outcome.ok()) *rows = std::move(sink.rows);
  return outcome;
}

/// Drops the rows beyond the limit. REQUIRES: the first column gives the order of the rows.
void DropBeyondLimit(const MappingTable& table, std::vector<Row>* rows, std::string* left_out) {
  if (rows->size() <= model::kMappingRowsMax) return;
  rows->resize(model::kMappingRowsMax);
  *left_out += (left_out->empty() ? "" : "; ") + NameOf(table) + " has more than " +
               std::to_string(model::kMappingRowsMax) + " rows: those after '" +
               rows->back().front() + "' are not served";
}

/// Notes in `*left_out` that none of the table's rows counts, because the table is not as its
/// script makes it.
void NoteUnreadable(const MappingTable& table, const model::Error& error, std::string* left_out) {
  *left_out += (left_out->empty() ? "" : "; ") + NameOf(table) + " cannot be read (" +
               std::string(model::Name(error.code)) + "): none of its rows counts";
}

std::string RefusalOf(const std::string& policy, const std::string& verb, Options* options) {
  if (policy == "innodb_only") return {};
  if (policy == "disabled") {
    return verb + "_policy of innodb_memcache.cache_policies does not allow this command";
  }
  std::string problem = "innodb_memcache.cache_policies says " + policy + " for " + verb +
                        ": rows are served from their table only, set it to innodb_only";
  if (options->policy_problem.empty()) options->policy_problem = problem;
  return problem;
}

void TakePolicies(const std::vector<Row>& rows, Options* options) {
  if (rows.empty()) return;
  const Row& row = rows.front();
  options->get_refusal = RefusalOf(row[0], "get", options);
  options->set_refusal = RefusalOf(row[1], "set", options);
  options->delete_refusal = RefusalOf(row[2], "delete", options);
  options->flush_refusal = RefusalOf(row[3], "flush", options);
}

void TakeOption(const std::string& name, const std::string& value, Options* options) {
  constexpr std::string_view kDurability = "durability.";
  if (name == "separator") {
    // The separator must not be N: the text of NULL, a backslash and N, would then also mean an
    // escaped N.
    const bool is_one = value.size() == 1 && value[0] != '\\' && value[0] != 'N' && value[0] > ' ';
    options->separator = is_one ? value[0] : '\0';
  } else if (name == "table_map_delimiter") {
    if (!value.empty()) options->delimiter = value;
  } else if (name.starts_with(kDurability) && value == "relaxed") {
    options->relaxed.push_back(name.substr(kDurability.size()));
  }
}

void TakeContainers(std::vector<Row>& rows, std::vector<ContainerDefinition>* containers) {
  const auto column = [](std::string& text) {
    return text == "0" || text == "NULL" ? std::string() : std::move(text);
  };
  for (Row& row : rows) {
    std::string title = "container " + row[0];
    containers->push_back({std::move(row[0]), std::move(title), std::move(row[1]),
                           std::move(row[2]), std::move(row[3]), std::move(row[4]), column(row[5]),
                           column(row[6]), column(row[7]), std::move(row[8])});
  }
}

void TakeKeyspaces(std::vector<Row>& rows, std::vector<KeyspaceDefinition>* keyspaces) {
  for (Row& row : rows) {
    KeyspaceDefinition& one = keyspaces->emplace_back();
    one.prefix = std::move(row[0]);
    one.kind = row[1] == "row" ? KeyspaceDefinition::Kind::kRow : KeyspaceDefinition::Kind::kValue;
    one.container = std::move(row[2]);
    one.db = std::move(row[3]);
    one.table = std::move(row[4]);
    one.index = std::move(row[5]);
    one.fields = SplitNames(row[6], kFieldSeparators);
    one.inserts = row[7] != "refuse";
    one.read_only = !row[8].empty() && row[8] != "0";  // Any other number is true in SQL.
    if (row.size() > 9) one.expires = std::move(row[9]);
  }
}

}  // namespace

std::vector<std::string> SplitNames(std::string_view text, std::string_view separators) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end != 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

Outcome ReadConfig(engine::Session& session, Config* config, std::string* unopened) {
  std::shared_ptr<engine::Index> containers, policies, options, keyspaces;
  Config read;
  const Outcome opened = Open(session, Containers(), &containers);
  *unopened = NameOf(Containers());
  if (LeavesRowsUnknown(opened)) return opened;
  if (!opened.ok()) {
    read.problem = "innodb_memcache.containers cannot be read (" +
                   std::string(model::Name(opened.error.code)) +
                   "): run innodb_memcache.sql, which makes it";
  }
  // If the other tables are missing, all options have their defaults, and there are no keyspaces.
  for (auto& [table, index] :
       {std::pair(&Policies(), &policies), std::pair(&ConfigOptions(), &options),
        std::pair(&KeyspaceTable(), &keyspaces)}) {
    Outcome outcome = Open(session, *table, index);
    if (table == &KeyspaceTable() && outcome.error.code == ErrorCode::kFld)
      outcome = Open(session, KeyspaceTableWithoutExpiry(), index);
    *unopened = NameOf(*table);
    if (LeavesRowsUnknown(outcome)) return outcome;
    if (!outcome.ok() && !model::IsNoTable(outcome.error))
      NoteUnreadable(*table, outcome.error, &read.left_out);
  }
  unopened->clear();
  session.BeginTurn(false);
  std::vector<Row> container_rows, policy_rows, option_rows, keyspace_rows;
  Outcome outcome = ReadAll(session, containers, &container_rows);
  if (outcome.ok()) outcome = ReadAll(session, policies, &policy_rows);
  if (outcome.ok()) outcome = ReadAll(session, options, &option_rows);
  if (outcome.ok()) outcome = ReadAll(session, keyspaces, &keyspace_rows);
  if (outcome.transaction_lost) {
    session.Rollback();
    return outcome;
  }
  const Outcome committed = session.Commit();
  if (!outcome.ok() || !committed.ok()) return outcome.ok() ? committed : outcome;
  DropBeyondLimit(Containers(), &container_rows, &read.left_out);
  DropBeyondLimit(ConfigOptions(), &option_rows, &read.left_out);
  DropBeyondLimit(KeyspaceTable(), &keyspace_rows, &read.left_out);
  TakeContainers(container_rows, &read.containers);
  TakePolicies(policy_rows, &read.options);
  for (const Row& row : option_rows) TakeOption(row[0], row[1], &read.options);
  TakeKeyspaces(keyspace_rows, &read.keyspaces);
  *config = std::move(read);
  return {};
}

}  // namespace rowsocket::keyspace
