// How a server takes a table of information_schema from a plugin. Declared and described here,
// for src/plugin; information_schema.h in each family's folder defines it.
//
// The family's information_schema.h defines these types before it includes this file:
//   SchemaColumn     a column of such a table
//   SchemaTable      the table, as the server fills it for a statement
//   SchemaCondition  the statement's condition, which the table may look at
//   SchemaTableInfo  what the server wants to know of a plugin that is such a table
#pragma once

#include <string>

namespace rowsocket::plugin {

// --- Columns: the list of a table ends with EndOfColumns ---

inline SchemaColumn TextColumn(const char* name, uint characters);
inline SchemaColumn TextOrNullColumn(const char* name, uint characters);
/// A column of integers from 0 on.
inline SchemaColumn NumberColumn(const char* name, uint digits);
/// A column of numbers with three decimal places at least.
inline SchemaColumn FractionColumn(const char* name);
inline SchemaColumn LongTextColumn(const char* name);
inline SchemaColumn EndOfColumns();

/// Whether the statement reads the column; if not, its value need not be given.
inline bool IsRead(const Field& field);

// --- Who asks ---

/// Whether the session may see what others do. If not, no error is raised.
inline bool HasProcessPrivilege(THD* thd);
/// Whether the session may read all tables of the schema, by its privileges on the schema or on all
/// schemas.
inline bool MayReadAll(THD* thd, const std::string& schema);

/// The plugin that is the table. `init` is called with the SchemaTable that it fills in.
inline PluginDeclaration DeclareSchemaTable(SchemaTableInfo* info, const char* name,
                                            const char* description, int (*init)(void*));

}  // namespace rowsocket::plugin
