// What engine/server/information_schema.h describes, for MariaDB.
#pragma once

#include "declare.h"

namespace rowsocket::plugin {

using SchemaColumn = ST_FIELD_INFO;
using SchemaTable = ST_SCHEMA_TABLE;
using SchemaCondition = COND;
using SchemaTableInfo = st_mysql_information_schema;

}  // namespace rowsocket::plugin

// Included after the types that it names.
#include "engine/server/information_schema.h"

namespace rowsocket::plugin {

inline SchemaColumn TextColumn(const char* name, uint characters) {
  return Show::Column(name, Show::Varchar(characters), NOT_NULL);
}
inline SchemaColumn TextOrNullColumn(const char* name, uint characters) {
  return Show::Column(name, Show::Varchar(characters), NULLABLE);
}
inline SchemaColumn NumberColumn(const char* name, uint digits) {
  return Show::Column(name, Show::ULonglong(digits), NOT_NULL);
}
inline SchemaColumn FractionColumn(const char* name) {
  constexpr uint kDigits = 21, kDecimals = 3;
  return Show::Column(name, Show::Decimal(100 * kDigits + kDecimals), NOT_NULL);
}
inline SchemaColumn LongTextColumn(const char* name) {
  return Show::Column(name, Show::Longtext(UINT16_MAX), NOT_NULL);
}
inline SchemaColumn EndOfColumns() { return Show::CEnd(); }

/// The server leaves no room for a column that is not read (optimize_schema_tables_memory_usage in
/// sql_show.cc).
inline bool IsRead(const Field& field) { return field.field_length != 0; }

inline bool HasProcessPrivilege(THD* thd) {
  return !check_global_access(thd, PROCESS_ACL, /*no_errors=*/true);
}

inline bool MayReadAll(THD* thd, const std::string&) {
  return !check_global_access(thd, SELECT_ACL, /*no_errors=*/true);
}

inline PluginDeclaration DeclareSchemaTable(SchemaTableInfo* info, const char* name,
                                            const char* description, int (*init)(void*)) {
  PluginDeclaration plugin = NamedPlugin(MYSQL_INFORMATION_SCHEMA_PLUGIN, info, name, description);
  plugin.init = init;
  return plugin;
}

}  // namespace rowsocket::plugin
