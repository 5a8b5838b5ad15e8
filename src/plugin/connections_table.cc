#include "plugin/connections_table.h"

#include <string>
#include <vector>

#include "plugin/schema_table.h"

namespace rowsocket::plugin {

namespace {

// The server keeps the rows of the statement in memory at their full width, three bytes a
// character, and on disk beyond max_heap_table_size. So the columns are narrow enough that 10,000
// connections fit into its default of 16 MiB.
constexpr uint kWordMax = 16;     ///< A plugin, a port, a state or a version of TLS.
constexpr uint kAddressMax = 45;  ///< An IPv6 address.
constexpr uint kCipherMax = 32;
constexpr uint kAccountMax = 128 + 1 + 64;  ///< user@host; a longer host is cut.
constexpr uint kSubjectMax = 96;            ///< A longer subject is cut, and so are longer names.
constexpr uint kNameShownMax = 64;
/// The positions of these columns.
constexpr uint kAddress = 3, kPort = 4;

SchemaColumn connection_columns[] = {
    TextColumn("PLUGIN", kWordMax),
    TextColumn("MODE", kWordMax),
    TextOrNullColumn("ACCOUNT", kAccountMax),
    TextColumn("ADDRESS", kAddressMax),
    NumberColumn("PORT", 5),
    TextOrNullColumn("TLS_VERSION", kWordMax),
    TextOrNullColumn("TLS_CIPHER", kCipherMax),
    TextOrNullColumn("TLS_SUBJECT", kSubjectMax),
    NumberColumn("AGE_MS", 20),
    NumberColumn("IDLE_MS", 20),
    NumberColumn("REQUESTS", 20),
    NumberColumn("ERRORS", 20),
    NumberColumn("BUFFERED_BYTES", 20),
    NumberColumn("ID", 20),
    TextOrNullColumn("NAME", kNameShownMax),
    TextColumn("STATE", kWordMax),
    EndOfColumns(),
};

bool StoreConnection(THD* thd, TABLE* table, const char* plugin, const exec::ConnectionInfo& info) {
  SchemaRow row(table);
  row.Text(plugin);
  row.Text(info.mode);
  row.TextOrNull(info.account);
  row.Text(info.address);
  row.Number(info.port);
  row.TextOrNull(info.tls_version);
  row.TextOrNull(info.tls_cipher);
  row.TextOrNull(info.tls_subject);
  row.Number(static_cast<uint64_t>(info.age_ms));
  row.Number(static_cast<uint64_t>(info.idle_ms));
  row.Number(info.requests);
  row.Number(info.errors);
  row.Number(info.buffered_bytes);
  row.Number(info.id);
  row.TextOrNull(info.name);
  row.Text(info.state);
  return schema_table_store_record(thd, table);
}

bool StoreConnections(THD* thd, TABLE* table, Daemon& daemon) {
  const bool has_addresses = ReadsColumn(*table, kAddress) || ReadsColumn(*table, kPort);
  for (const exec::ConnectionInfo& info : daemon.Connections(has_addresses)) {
    if (StoreConnection(thd, table, daemon.descriptor().name, info)) return true;
  }
  return false;
}

}  // namespace

PluginDeclaration ConnectionsTable(Daemon* const* daemons) {
  return SchemaTableOf<connection_columns, StoreConnections>::Declare(
      daemons, "ROWSOCKET_CONNECTIONS", "Connections of the ports of Rowsocket");
}

}  // namespace rowsocket::plugin
