// What the servers that this library is built for name differently: one small inline function for
// each difference, so that the files of src/engine/server are the same for all of them. Included by
// api.h alone, behind the server's headers and compat.h.
#pragma once

#include <string_view>

namespace rowsocket::engine::server {

/// The table reference by which a table is opened and locked.
using TableReference = TABLE_LIST;

// --- Columns ---

inline const char* NameText(const Field& field) { return field.field_name.str; }
inline std::string_view NameOf(const Field& field) {
  return {field.field_name.str, field.field_name.length};
}
/// The position of the column in the table, from 0.
inline uint NumberOf(const Field& field) { return field.field_index; }
inline bool IsGenerated(const Field& field) { return field.vcol_info != nullptr; }
inline bool IsBlob(const Field& field) { return (field.flags & BLOB_FLAG) != 0; }
inline bool IsZerofill(const Field& field) { return (field.flags & ZEROFILL_FLAG) != 0; }
/// Whether SQL may name the column.
inline bool IsNamed(const Field& field) { return field.invisible < INVISIBLE_FULL; }

/// Where the column's value lies in the row, and the bit that says that it is NULL.
inline uchar* BytesOf(const Field& field) { return field.ptr; }
inline const uchar* NullByteOf(const Field& field) {
  return field.real_maybe_null() ? field.null_ptr : nullptr;
}
inline uchar NullBitOf(const Field& field) { return field.null_bit; }

/// False for UUID, INET4, INET6 and the like, whose values are bytes that their type alone
/// explains.
inline bool IsTraditional(const Field& field) {
  return field.type_handler()->is_traditional_scalar_type();
}
inline bool IsPlainDate(const Field& field) {
  return field.type_handler() == &type_handler_newdate;
}
inline bool IsPlainDatetime(const Field& field) {
  return field.type_handler() == &type_handler_datetime2;
}
/// Whether the column is a VARCHAR or VARBINARY that is not stored compressed.
inline bool IsPlainVarchar(const Field& field) {
  return field.type_handler() == &type_handler_varchar && field.compression_method() == nullptr;
}
inline bool IsPlainBlob(const Field& field) {
  const Type_handler* type = field.type_handler();
  return field.compression_method() == nullptr &&
         (type == &type_handler_tiny_blob || type == &type_handler_blob ||
          type == &type_handler_medium_blob || type == &type_handler_long_blob);
}

/// Marks the column, and the columns it is generated from, for the next reads.
inline void MarkForReading(Field& field) { field.register_field_in_read_map(); }

// --- Tables ---

inline bool HasGenerated(const TABLE& table) { return table.vfield != nullptr; }
inline bool HasChecks(const TABLE& table) { return table.check_constraints != nullptr; }
inline bool HasPeriod(const TABLE& table) { return table.s->period.name.str != nullptr; }
/// Whether a default value comes from a sequence, which is a table of its own.
inline bool HasSequences(const TABLE& table) { return table.internal_tables != nullptr; }
/// Whether the server keeps values unique beyond the engine's own indexes.
inline bool HasServersUniqueKeys(const TABLE& table) {
  return table.s->long_unique_table || table.s->period.unique_keys != 0;
}
inline bool IsPartitioned(const TABLE& table) { return table.part_info != nullptr; }
inline bool IsInnodb(const TABLE& table) { return table.file->ht->db_type == DB_TYPE_INNODB; }
inline bool IsReferenced(const TABLE& table) { return table.file->referenced_by_foreign_key(); }

/// Whether rows of the past stand beside the present ones (system versioning).
inline bool KeepsHistory(const TABLE& table) { return table.versioned(); }
/// Whether the row in record[0] is one of the past. REQUIRES: KeepsHistory.
inline bool IsHistory(const TABLE& table) { return !table.vers_end_field()->is_max(); }
inline void MarkHistoryForReading(const TABLE& table) {
  if (table.versioned()) table.vers_end_field()->register_field_in_read_map();
}

inline void MarkForInsert(TABLE& table) { table.mark_columns_needed_for_insert(); }
inline void MarkForUpdate(TABLE& table) { table.mark_columns_needed_for_update(); }
inline void MarkForDelete(TABLE& table) { table.mark_columns_needed_for_delete(); }

/// Drops what the query cache has of the table.
inline void ForgetQueries(THD* thd, TABLE* table) { query_cache_invalidate3(thd, table, 0); }

// --- The server ---

inline bool IsKilled(const THD& thd) { return thd.killed != NOT_KILLED; }
inline bool IsReadOnly() { return opt_readonly; }

}  // namespace rowsocket::engine::server
