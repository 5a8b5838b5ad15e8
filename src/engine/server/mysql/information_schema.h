// What engine/server/information_schema.h describes, for MySQL.
#pragma once

#include "declare.h"
#include "sql/sql_show.h"

namespace rowsocket::plugin {

using SchemaColumn = ST_FIELD_INFO;
using SchemaTable = ST_SCHEMA_TABLE;
using SchemaCondition = Item;
using SchemaTableInfo = st_mysql_information_schema;

}  // namespace rowsocket::plugin

// Included after the types that it names.
#include "engine/server/information_schema.h"

namespace rowsocket::plugin {

inline SchemaColumn TextColumn(const char* name, uint characters) {
  return {name, characters, MYSQL_TYPE_STRING, 0, 0, "", 0};
}
inline SchemaColumn TextOrNullColumn(const char* name, uint characters) {
  return {name, characters, MYSQL_TYPE_STRING, 0, MY_I_S_MAYBE_NULL, "", 0};
}
inline SchemaColumn NumberColumn(const char* name, uint digits) {
  return {name, digits, MYSQL_TYPE_LONGLONG, 0, MY_I_S_UNSIGNED, "", 0};
}
/// The column is a DOUBLE, because the server's dictionary gives each DECIMAL of a plugin's table
/// nine digits, whatever the plugin asks for.
inline SchemaColumn FractionColumn(const char* name) {
  constexpr uint kCharacters = 23;
  return {name, kCharacters, MYSQL_TYPE_DOUBLE, 0, 0, "", 0};
}
inline SchemaColumn LongTextColumn(const char* name) {
  return {name, UINT16_MAX, MYSQL_TYPE_STRING, 0, 0, "", 0};
}
inline SchemaColumn EndOfColumns() { return {nullptr, 0, MYSQL_TYPE_NULL, 0, 0, nullptr, 0}; }

inline bool IsRead(const Field& field) {
  return bitmap_is_set(field.table->read_set, field.field_index());
}

inline bool HasProcessPrivilege(THD* thd) {
  return thd->security_context()->check_access(PROCESS_ACL, "", /*match_any=*/true);
}

/// False, too, if SELECT on the schema was partially revoked (partial_revokes).
inline bool MayReadAll(THD* thd, const std::string& schema) {
  return thd->security_context()->check_access(SELECT_ACL, schema);
}

/// The number tells the server whether its dictionary has the table's present columns: a server
/// that starts with another number stores the columns anew. Count it up with each change of the
/// columns. The comment after it has the digest of the columns, by which scripts/check-tree notices
/// a change.
inline constexpr unsigned kColumnsVersion = 0x0104;  // 0x0104: 7dac1b59

/// UNINSTALL PLUGIN of the table is refused. From its parsing on, a statement keeps a pointer to
/// the server's description of the table (a prepared statement until it is deallocated), with
/// neither a metadata lock nor a reference to the plugin. The server frees the description with the
/// plugin, and the statement would then read freed memory.
inline PluginDeclaration DeclareSchemaTable(SchemaTableInfo* info, const char* name,
                                            const char* description, int (*init)(void*)) {
  PluginDeclaration plugin = NamedPlugin(MYSQL_INFORMATION_SCHEMA_PLUGIN, info, name, description);
  plugin.init = init;
  plugin.version = kColumnsVersion;
  plugin.flags = PLUGIN_OPT_NO_UNINSTALL;
  return plugin;
}

}  // namespace rowsocket::plugin
