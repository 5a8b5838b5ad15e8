// What the library's tables in information_schema have in common: who may read them, and how they
// are declared to the server. A change of any table's columns raises kColumnsVersion
// (engine/server/mysql/information_schema.h): MySQL keeps the columns in its dictionary.
//
// Threads: any session's.
// Errors: a user without the privilege PROCESS sees no row, as in the process list; without memory
// the statement fails with ER_OUT_OF_RESOURCES.
#pragma once

#include <new>

#include "information_schema.h"
#include "plugin/daemon.h"
#include "plugin/schema_row.h"

namespace rowsocket::plugin {

/// A table with the columns `kColumns`, which end with EndOfColumns. `kStoreRows` stores the rows
/// of one plugin; true: it has failed.
template <SchemaColumn* kColumns, bool (*kStoreRows)(THD*, TABLE*, Daemon&)>
class SchemaTableOf {
 public:
  /// The declaration of the table. `daemons` ends with a null pointer, and is static.
  static PluginDeclaration Declare(Daemon* const* daemons, const char* name,
                                   const char* description) {
    all_daemons = daemons;
    return DeclareSchemaTable(&info, name, description, Init);
  }

 private:
  static int Init(void* table) {
    auto* const schema = static_cast<SchemaTable*>(table);
    schema->fields_info = kColumns;
    schema->fill_table = Fill;
    return 0;
  }
  static int Fill(THD* thd, engine::server::TableReference* tables, SchemaCondition*) {
    if (!HasProcessPrivilege(thd)) return 0;
    ClearRow(tables->table);
    // An exception would end the server, which does not catch any.
    try {
      for (Daemon* const* daemon = all_daemons; *daemon != nullptr; ++daemon) {
        if (kStoreRows(thd, tables->table, **daemon)) return 1;
      }
    } catch (const std::bad_alloc&) {
      my_error(ER_OUT_OF_RESOURCES, MYF(0));
      return 1;
    }
    return 0;
  }

  static inline Daemon* const* all_daemons = nullptr;
  static inline SchemaTableInfo info = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};
};

}  // namespace rowsocket::plugin
