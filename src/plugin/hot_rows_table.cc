#include "plugin/hot_rows_table.h"

#include "plugin/schema_table.h"

namespace rowsocket::plugin {

namespace {

/// model::kHotKeyBytesMax, one more character, and the commas of sixteen parts.
constexpr uint kKeyMax = 160;
constexpr int64_t kWindowsS[] = {10, 60, 600};

/// OVERCOUNT says by how much REQUESTS may be too high. If more than model::kHotLocksOfSlice rows
/// were waited for in a slice, LOCK_TIME_US may be too high, and LOCK_WAITS too low, by an unknown
/// number.
SchemaColumn hot_row_columns[] = {
    NumberColumn("SECONDS", 5),           TextColumn("PLUGIN", kNameMax),
    TextColumn("TABLE_SCHEMA", kNameMax), TextColumn("TABLE_NAME", kNameMax),
    TextColumn("INDEX_NAME", kNameMax),   TextColumn("KEY_TEXT", kKeyMax),
    NumberColumn("REQUESTS", 20),         NumberColumn("MERGED", 20),
    NumberColumn("LOCK_WAITS", 20),       FractionColumn("LOCK_TIME_US"),
    NumberColumn("OVERCOUNT", 20),        EndOfColumns(),
};

bool StoreHotRow(THD* thd, TABLE* table, int64_t seconds, const char* plugin,
                 const exec::HotRowName& name, const exec::HotRowCounts& counts) {
  SchemaRow row(table);
  row.Number(static_cast<uint64_t>(seconds));
  row.Text(plugin);
  row.Text(name.schema);
  row.Text(name.table);
  row.Text(name.index);
  row.Text(MayReadAll(thd, name.schema) ? name.key : exec::HiddenKey(name));
  row.Number(counts.requests);
  row.Number(counts.merged);
  row.Number(counts.lock_waits);
  row.Fraction(static_cast<double>(counts.lock_ns) / 1000);
  row.Number(counts.overcount);
  return schema_table_store_record(thd, table);
}

bool StoreHotRows(THD* thd, TABLE* table, Daemon& daemon) {
  for (const int64_t seconds : kWindowsS) {
    for (const auto& [name, counts] : daemon.HotRows(seconds)) {
      if (StoreHotRow(thd, table, seconds, daemon.descriptor().name, name, counts)) return true;
    }
  }
  return false;
}

}  // namespace

PluginDeclaration HotRowsTable(Daemon* const* daemons) {
  return SchemaTableOf<hot_row_columns, StoreHotRows>::Declare(
      daemons, "ROWSOCKET_HOT_ROWS", "The rows that are asked for most, and waited for longest");
}

}  // namespace rowsocket::plugin
