#include "plugin/connections_table.h"

#include <string>
#include <vector>

#include "api.h"
#include "plugin/daemon.h"

namespace rowsocket::plugin {

namespace {

constexpr uint kNameMax = 64;
constexpr uint kTextMax = 512;

ST_FIELD_INFO columns[] = {
    Show::Column("PLUGIN", Show::Varchar(kNameMax), NOT_NULL),
    Show::Column("MODE", Show::Varchar(kNameMax), NOT_NULL),
    Show::Column("ACCOUNT", Show::Varchar(kTextMax), NULLABLE),
    Show::Column("ADDRESS", Show::Varchar(kNameMax), NOT_NULL),
    Show::Column("PORT", Show::ULonglong(5), NOT_NULL),
    Show::Column("TLS_VERSION", Show::Varchar(kNameMax), NULLABLE),
    Show::Column("TLS_CIPHER", Show::Varchar(kNameMax), NULLABLE),
    Show::Column("TLS_SUBJECT", Show::Varchar(kTextMax), NULLABLE),
    Show::Column("AGE_MS", Show::ULonglong(20), NOT_NULL),
    Show::Column("IDLE_MS", Show::ULonglong(20), NOT_NULL),
    Show::Column("REQUESTS", Show::ULonglong(20), NOT_NULL),
    Show::Column("ERRORS", Show::ULonglong(20), NOT_NULL),
    Show::Column("BUFFERED_BYTES", Show::ULonglong(20), NOT_NULL),
    Show::CEnd(),
};

Daemon* const* all_daemons = nullptr;

/// Stores values into the columns of a row, from the first on.
class Row {
 public:
  explicit Row(TABLE* table) : next_(table->field) { restore_record(table, s->default_values); }

  void Text(const std::string& text) {
    (*next_++)->store(text.data(), static_cast<uint>(text.size()), system_charset_info);
  }
  /// An empty text is NULL.
  void TextOrNull(const std::string& text) {
    Field& field = **next_;
    if (text.empty())
      field.set_null();
    else
      field.set_notnull();
    Text(text);
  }
  void Number(uint64_t number) {
    (*next_++)->store(static_cast<longlong>(number), /*unsigned_val=*/true);
  }

 private:
  Field** next_;
};

bool StoreRow(THD* thd, TABLE* table, const char* plugin, const exec::ConnectionInfo& info) {
  Row row(table);
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
  return schema_table_store_record(thd, table);
}

int Fill(THD* thd, TABLE_LIST* tables, COND*) {
  if (check_global_access(thd, PROCESS_ACL, /*no_errors=*/true)) return 0;
  for (Daemon* const* daemon = all_daemons; *daemon != nullptr; ++daemon) {
    const char* const name = (*daemon)->descriptor().name;
    for (const exec::ConnectionInfo& info : (*daemon)->Connections()) {
      if (StoreRow(thd, tables->table, name, info)) return 1;
    }
  }
  return 0;
}

int Init(void* table) {
  auto* const schema = static_cast<ST_SCHEMA_TABLE*>(table);
  schema->fields_info = columns;
  schema->fill_table = Fill;
  return 0;
}

st_mysql_information_schema info = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};

}  // namespace

PluginDeclaration ConnectionsTable(Daemon* const* daemons) {
  all_daemons = daemons;
  return {
      MYSQL_INFORMATION_SCHEMA_PLUGIN,
      &info,
      "ROWSOCKET_CONNECTIONS",
      "Rowsocket",
      "Connections of the HandlerSocket and memcached protocols",
      PLUGIN_LICENSE_GPL,
      Init,
      nullptr,
      0x0100,
      nullptr,
      nullptr,
      "0.1.0",
      MariaDB_PLUGIN_MATURITY_GAMMA,
  };
}

}  // namespace rowsocket::plugin
