#include "plugin/usage_tables.h"

#include "plugin/schema_table.h"

namespace rowsocket::plugin {

namespace {

/// The most characters that the names of a host and a user have.
constexpr uint kHostMax = 255, kUserMax = 128;

SchemaColumn index_columns[] = {
    TextColumn("PLUGIN", kNameMax),     TextColumn("TABLE_SCHEMA", kNameMax),
    TextColumn("TABLE_NAME", kNameMax), TextColumn("INDEX_NAME", kNameMax),
    NumberColumn("REQUESTS", 20),       NumberColumn("WRITES", 20),
    NumberColumn("ROWS_READ", 20),      NumberColumn("ROWS_CHANGED", 20),
    NumberColumn("MERGED", 20),         NumberColumn("ERRORS", 20),
    NumberColumn("LOCK_WAITS", 20),     FractionColumn("LOCK_TIME_US"),
    FractionColumn("TIME_US"),          EndOfColumns(),
};

SchemaColumn account_columns[] = {
    TextColumn("PLUGIN", kNameMax), TextColumn("MODE", kNameMax),
    TextColumn("USER", kUserMax),   TextColumn("HOST", kHostMax),
    NumberColumn("REQUESTS", 20),   NumberColumn("WRITES", 20),
    NumberColumn("ROWS_READ", 20),  NumberColumn("ROWS_CHANGED", 20),
    NumberColumn("MERGED", 20),     NumberColumn("ERRORS", 20),
    NumberColumn("LOCK_WAITS", 20), FractionColumn("LOCK_TIME_US"),
    FractionColumn("TIME_US"),      EndOfColumns(),
};

/// Stores the columns after the names, in the order of exec::Used.
bool StoreCounts(THD* thd, TABLE* table, const exec::UsageCounts& counts, SchemaRow& row) {
  for (size_t i = 0; i < exec::kUsedCounts; ++i) {
    const auto what = static_cast<exec::Used>(i);
    if (what == exec::Used::kLockNs || what == exec::Used::kWholeNs)
      row.Fraction(static_cast<double>(counts[i]) / 1000);
    else
      row.Number(counts[i]);
  }
  return schema_table_store_record(thd, table);
}

bool StoreIndexes(THD* thd, TABLE* table, Daemon& daemon) {
  for (const auto& [name, counts] : daemon.UsageOfIndexes()) {
    SchemaRow row(table);
    row.Text(daemon.descriptor().name);
    row.Text(name.schema);
    row.Text(name.table);
    row.Text(name.index);
    if (StoreCounts(thd, table, counts, row)) return true;
  }
  return false;
}

bool StoreAccounts(THD* thd, TABLE* table, Daemon& daemon) {
  for (const auto& [name, counts] : daemon.UsageOfAccounts()) {
    SchemaRow row(table);
    row.Text(daemon.descriptor().name);
    row.Text(name.mode);
    row.Text(name.user);
    row.Text(name.host);
    if (StoreCounts(thd, table, counts, row)) return true;
  }
  return false;
}

}  // namespace

PluginDeclaration TableStatistics(Daemon* const* daemons) {
  return SchemaTableOf<index_columns, StoreIndexes>::Declare(
      daemons, "ROWSOCKET_TABLE_STATISTICS", "What the ports have done for each index of a table");
}

PluginDeclaration UserStatistics(Daemon* const* daemons) {
  return SchemaTableOf<account_columns, StoreAccounts>::Declare(
      daemons, "ROWSOCKET_USER_STATISTICS", "What the ports have done for each account");
}

}  // namespace rowsocket::plugin
