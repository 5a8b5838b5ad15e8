// What engine/server/accessors.h describes, for MySQL. Included only by api.h, after the server's
// headers and compat.h.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::engine::server {

using TableReference = Table_ref;
using TriggerEvent = enum_trigger_event_type;
using ServerVio = Vio;
using ServerPrivileges = Access_bitmask;

inline constexpr const char* kServerName = "MySQL";
inline constexpr uint kDecimalsNotFixed = DECIMAL_NOT_SPECIFIED;
/// With HA_READ_KEY_EXACT InnoDB may take a shortcut through its adaptive hash index
/// (row_sel_try_search_shortcut_for_mysql in MySQL's row0sel.cc) that copies the row without its
/// page's latch, so that a row that is being changed in place is read torn, uncommitted, or not at
/// all (bug 101667 of MySQL). This search finds the same row, ends at the first row with another
/// key, and never takes the shortcut, because it is not bound to one row.
inline constexpr ha_rkey_function kSingleRowSearch = HA_READ_PREFIX_LAST;
/// InnoDB takes the blanks off before it compares (innobase_mysql_cmp in rem0cmp.cc), as
/// Field_string does.
inline constexpr bool kIndexHasPadding = false;
inline constexpr bool kNullLeavesGenerated = false;
inline constexpr bool kReadOnlyNeedsLocks = false;
/// InnoDB writes every 256th id (trx_sys_allocate_trx_id in trx0sys.ic). Each transaction that
/// locks rows has an id, unless the transaction is read only.
inline constexpr bool kLogsTransactionIds = true;
/// Set by foreign_key_checks.
inline constexpr ulonglong kCheckOptions = OPTION_NO_FOREIGN_KEY_CHECKS;
inline constexpr int kInterrupted = HA_ERR_QUERY_INTERRUPTED;
/// The value is that of MySQL's manual.
inline constexpr ulong kForceRecoveryMaxForWrites = 3;

}  // namespace rowsocket::engine::server

// Included after the types that it names.
#include "engine/server/accessors.h"

namespace rowsocket::engine::server {

// --- Columns ---

inline const char* NameText(const Field& field) { return field.field_name; }
inline std::string_view NameOf(const Field& field) { return field.field_name; }
inline bool IsSameName(const char* left, const char* right) {
  return my_strcasecmp(system_charset_info, left, right) == 0;
}
inline bool HasName(const Field& field, const LEX_CSTRING& name) {
  return IsSameName(field.field_name, name.str);
}
inline uint NumberOf(const Field& field) { return field.field_index(); }
inline bool IsGenerated(const Field& field) { return field.is_gcol(); }
inline bool IsBlob(const Field& field) { return field.is_flag_set(BLOB_FLAG); }
inline bool IsZerofill(const Field& field) { return field.is_flag_set(ZEROFILL_FLAG); }
/// Columns of functional indexes have no name.
inline bool IsNamed(const Field& field) { return !field.is_hidden_by_system(); }
inline bool IsNullable(const Field& field) { return field.is_nullable(); }
inline bool HasOnUpdate(const Field& field) {
  return field.has_update_default_datetime_value_expression();
}
/// Whether the column is ENUM or SET, which have a character set and are sorted as numbers.
inline bool HasLabels(const Field& field) {
  return field.real_type() == MYSQL_TYPE_ENUM || field.real_type() == MYSQL_TYPE_SET;
}
inline bool ComparesAsText(const Field& field) {
  return field.cmp_type() == STRING_RESULT || HasLabels(field);
}

/// SQL adds to a TIME as to the number that it makes of the TIME, with its fraction.
inline Item_result ArithmeticOf(const Field& field) {
  if (is_temporal_type(field.type()) && field.type() != MYSQL_TYPE_YEAR) return DECIMAL_RESULT;
  return HasLabels(field) ? STRING_RESULT : field.cmp_type();
}
inline bool AddsRealsTo(const Field& field) {
  return field.result_type() == STRING_RESULT && !HasLabels(field);
}

inline uchar* BytesOf(const Field& field) { return const_cast<uchar*>(field.field_ptr()); }
inline const uchar* NullByteOf(const Field& field) {
  return field.is_nullable() ? const_cast<Field&>(field).get_null_ptr() : nullptr;
}
inline uchar NullBitOf(const Field& field) { return field.null_bit; }
/// The text of a FLOAT or DOUBLE changes to an exponent where SQL's text protocol does
/// (Protocol_text::store_double in sql/protocol_classic.cc): Field::val_str has room for fewer
/// digits.
inline const String* TextOf(Field& field, String* buffer) {
  if (field.result_type() != REAL_RESULT || field.decimals() < DECIMAL_NOT_SPECIFIED) {
    return field.val_str(buffer);
  }
  if (buffer->alloc(FLOATING_POINT_BUFFER)) return nullptr;
  const my_gcvt_arg_type type =
      field.type() == MYSQL_TYPE_FLOAT ? MY_GCVT_ARG_FLOAT : MY_GCVT_ARG_DOUBLE;
  buffer->length(my_gcvt(field.val_real(), type, FLOATING_POINT_BUFFER, buffer->ptr(), nullptr));
  buffer->set_charset(&my_charset_latin1);
  if (IsZerofill(field)) static_cast<const Field_num&>(field).prepend_zeros(buffer);
  return buffer;
}

inline uint LengthBytesOf(const Field_varstring& field) { return field.get_length_bytes(); }
inline const uchar* BlobOf(const Field_blob& field) { return field.get_blob_data(); }
inline void SetBlob(Field_blob& field, std::string& bytes) {
  field.set_ptr(static_cast<uint32>(bytes.size()), reinterpret_cast<uchar*>(bytes.data()));
}

inline void MarkAsGiven(Field& field) {
  bitmap_set_bit(&field.table->def_fields_set_during_insert, field.field_index());
}
inline void ForgetGiven(TABLE& table) { bitmap_clear_all(&table.def_fields_set_during_insert); }
inline bool WasGiven(Field& field) {
  return bitmap_is_set(&field.table->def_fields_set_during_insert, field.field_index());
}

inline bool IsTraditional(const Field&) { return true; }
inline bool IsVector(const Field& field) { return field.real_type() == MYSQL_TYPE_VECTOR; }
inline bool TakesBytes(const Field& field) {
  return field.real_type() != MYSQL_TYPE_JSON &&
         (field.charset() == &my_charset_bin || field.real_type() == MYSQL_TYPE_GEOMETRY);
}
inline bool IsPlainDate(const Field& field) { return field.real_type() == MYSQL_TYPE_NEWDATE; }
inline bool IsPlainDatetime(const Field& field) {
  return field.real_type() == MYSQL_TYPE_DATETIME2;
}
inline bool IsPlainVarchar(const Field& field) {
  return field.real_type() == MYSQL_TYPE_VARCHAR && !field.is_array();
}
inline bool IsPlainBlob(const Field& field) { return field.real_type() == MYSQL_TYPE_BLOB; }
inline uint LabelsOf(const Field& field) {
  return static_cast<uint>(static_cast<const Field_enum&>(field).typelib->count);
}

inline bool IsStoredButForRest(int result) {
  return result == TYPE_OK || result == TYPE_NOTE_TIME_TRUNCATED || result == TYPE_NOTE_TRUNCATED;
}
inline bool StoreNull(Field* field) {
  return set_field_to_null_with_conversions(field, /*no_conversions=*/false) == TYPE_OK;
}
inline longlong PackedTimeOf(THD*, Field& field, bool is_duration) {
  if (!is_duration) return field.val_date_temporal();
  Time_val time;
  return field.val_time(&time) ? 0 : time.for_comparison();
}
inline bool IsZeroTimestamp(const Field& field, ulong* microseconds) {
  my_timeval time{};
  int warnings = 0;
  field.get_timestamp(&time, &warnings);
  *microseconds = static_cast<ulong>(time.m_tv_usec);
  return time.m_tv_sec == 0;
}

inline void MarkForReading(Field& field) {
  field.table->mark_column_used(&field, MARK_COLUMNS_READ);
}
inline void MarkWithBaseColumns(Field& field, MY_BITMAP* map) {
  bitmap_union(map, &field.gcol_info->base_columns_map);
  bitmap_set_bit(map, field.field_index());
}

// --- Errors of a statement, as SQL words them ---

inline void RaiseGivenGenerated(const Field& field) {
  my_error(ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), NameText(field),
           field.table->s->table_name.str);
}
inline void RaiseWrongNumber(const Field& field) {
  my_error(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, MYF(0), "numeric", "operand", NameText(field), 1L);
}

// --- Texts and numbers ---

inline void FreeBytes(String& text) { text.mem_free(); }
inline bool IsUtf8(const CHARSET_INFO& charset) {
  return my_charset_same(&charset, &my_charset_utf8mb4_bin) ||
         my_charset_same(&charset, &my_charset_utf8mb3_bin);
}
inline bool IsWellFormed(const CHARSET_INFO& charset, std::string_view text) {
  int error = 0;
  const char* end = text.data() + text.size();
  const size_t size =
      charset.cset->well_formed_len(&charset, text.data(), end, text.size(), &error);
  return error == 0 && size == text.size();
}
inline bool ComparesBlanks(const CHARSET_INFO& charset) { return charset.pad_attribute == NO_PAD; }
inline uint LevelsOf(const CHARSET_INFO& charset) { return charset.levels_for_compare; }
inline int ReadDecimal(std::string_view text, my_decimal* decimal, const char** end) {
  *end = text.data() + text.size();
  return string2decimal(text.data(), decimal, end);
}
inline double ReadDouble(std::string_view text, const char** end, int* error) {
  return my_strntod(&my_charset_latin1, text.data(), text.size(), end, error);
}
inline bool IsTableName(std::string_view name) {
  return check_table_name(name.data(), name.size()) == Ident_name_check::OK;
}
inline void FoldCase(const CHARSET_INFO* charset, std::string* name) {
  name->resize(my_casedn_str(charset, name->data()));
}
/// MySQL no longer knows such a prefix.
inline bool IsMysql50Name(std::string_view) { return false; }

// --- Keys ---

inline std::string_view NameOf(const KEY& key) { return key.name; }
/// False for full-text, spatial and multi-valued indexes.
inline bool IsSearchable(const KEY& key) {
  return (key.flags & (HA_FULLTEXT | HA_SPATIAL | HA_MULTI_VALUED_KEY)) == 0;
}
inline bool IsFullText(const KEY& key) { return (key.flags & HA_FULLTEXT) != 0; }
inline bool IsHash(const KEY&) { return false; }
inline bool IsClustered(const TABLE& table, uint key) {
  return key == table.s->primary_key && table.file->primary_key_is_clustered();
}
inline void BeginKeyRead(TABLE& table, uint) { table.set_keyread(true); }
inline void EndKeyRead(TABLE& table) { table.set_keyread(false); }
inline void ResumeKeyRead(TABLE& table) {
  if (table.key_read) table.file->ha_extra(HA_EXTRA_KEYREAD);
}
inline bool MergesPartitionsBy(const Field&) { return false; }

// --- Tables ---

inline bool MakeBitmap(MY_BITMAP* bitmap, uint bits) { return !bitmap_init(bitmap, nullptr, bits); }
inline void FreeBitmap(MY_BITMAP* bitmap) { bitmap_free(bitmap); }

/// The server shows a step of its own in the process list while it locks; the session's text is
/// restored after that.
inline MYSQL_LOCK* LockTables(THD* thd, std::vector<TABLE*>& tables, bool) {
  const char* const shown = thd->proc_info();
  MYSQL_LOCK* const lock = mysql_lock_tables(thd, tables.data(), tables.size(), 0);
  thd->set_proc_info(shown);
  return lock;
}
inline void UnlockTables(THD* thd, MYSQL_LOCK* lock, bool) { mysql_unlock_tables(thd, lock); }
inline void ReleaseTableMetadataLocks(THD* thd) { thd->mdl_context.release_transactional_locks(); }

inline int PrepareToWrite(handler&, bool) { return 0; }
inline void MarkForInsert(TABLE& table) { table.mark_columns_needed_for_insert(table.in_use); }
inline void MarkForUpdate(TABLE& table) {
  table.mark_columns_needed_for_update(table.in_use, /*mark_binlog_columns=*/true);
}
inline void MarkForDelete(TABLE& table) { table.mark_columns_needed_for_delete(table.in_use); }
inline void SetGivesAutoIncrement(TABLE& table, bool gives) {
  table.autoinc_field_has_explicit_non_null_value = gives;
}

/// MySQL has no such statistics.
inline void PublishStatistics(TABLE&) {}

inline void FreeValuesAbove(TABLE& table, size_t bytes) {
  if (table.s->blob_fields != 0) free_blob_buffers_and_reset(&table, static_cast<uint32>(bytes));
}

inline bool HasGenerated(const TABLE& table) { return table.has_gcol(); }
inline void ForgetGenerated(TABLE& table) { table.cleanup_value_generator_items(); }
inline bool HasChecks(const TABLE& table) {
  return table.table_check_constraint_list != nullptr &&
         !table.table_check_constraint_list->empty();
}
inline bool RollsBack(const TABLE& table) { return table.file->has_transactions(); }
inline bool HasComputedDefaults(const TABLE& table) {
  return std::any_of(table.field, table.field + table.s->fields, [](const Field* field) {
    return HasOnUpdate(*field) || field->has_insert_default_datetime_value_expression() ||
           field->has_insert_default_general_value_expression();
  });
}
/// Each statement prepares the expressions anew (ForgetGenerated).
inline bool HasSessionExpressions(const TABLE&) { return false; }
inline bool HasPeriod(const TABLE&) { return false; }
inline bool HasSequences(const TABLE&) { return false; }
inline bool HasServersUniqueKeys(const TABLE&) { return false; }
inline bool HasVectorIndexTable(const TABLE&) { return false; }
inline void BeginStatementOfVectorIndexTable(THD*, TABLE*) {}
/// If no unique key without NULL tells rows apart, replicas look rows up by their values, and do
/// not find a row that the event changes twice.
inline bool ReplicasLookUpRowsTogether(const TABLE& table) {
  return table.s->primary_key == MAX_KEY;
}
inline bool IsPartitioned(const TABLE& table) { return table.part_info != nullptr; }
inline bool IsInnodb(const TABLE& table) { return table.file->ht->db_type == DB_TYPE_INNODB; }
inline bool ServerChecksForeignKeys(const TABLE& table) {
  return table.s->foreign_keys != 0 || table.s->foreign_key_parents != 0;
}
inline bool IsReferenced(const TABLE& table) { return table.s->is_referenced_by_foreign_key(); }

inline bool IsSystemVersioned(const TABLE&) { return false; }
inline bool IsRowEnd(const Field&) { return false; }
inline bool IsHistoricalRow(const TABLE&) { return false; }
inline void MarkRowEndForReading(const TABLE&) {}
inline void SetRowEndOfCurrent(const TABLE&) {}
inline bool IsAddedByServer(const Field&) { return false; }

/// MySQL has no query cache.
inline void ForgetQueries(THD*, TABLE*) {}
inline bool IsOutOfDate(const TABLE& table) {
  return table.s->has_old_version() || table.has_invalid_dict() ||
         const_cast<TABLE&>(table).has_invalid_stats();
}

// --- The session ---

inline uint ErrorNumberOf(const THD& thd) {
  return thd.is_error() ? thd.get_stmt_da()->mysql_errno() : 0;
}
inline void ForgetConditions(THD& thd) {
  Diagnostics_area* const area = thd.get_stmt_da();
  if (area->current_statement_cond_count() != 0) area->reset_condition_info(&thd);
  thd.clear_error();
}
inline void ForgetGivenValues(THD& thd) { thd.num_truncated_fields = 0; }
inline void SetTransactionVariables(THD& thd, enum_tx_isolation isolation, bool is_read_only) {
  thd.variables.transaction_isolation = isolation;
  thd.variables.transaction_read_only = is_read_only;
}
/// A group commit of the binary log leaves the THD with another durability.
inline void ExpectRegularDurability(THD* thd) { thd->durability_property = HA_REGULAR_DURABILITY; }
inline void NoteTransactionStart(THD*) {}
inline bool FollowOwnVariables(THD& thd) {
  const System_variables& global = global_system_variables;
  System_variables& mine = thd.variables;
  const bool changed =
      mine.explicit_defaults_for_timestamp != global.explicit_defaults_for_timestamp ||
      mine.my_aes_mode != global.my_aes_mode;
  mine.explicit_defaults_for_timestamp = global.explicit_defaults_for_timestamp;
  mine.my_aes_mode = global.my_aes_mode;
  mine.binlog_trx_compression = global.binlog_trx_compression;
  mine.group_replication_consistency = global.group_replication_consistency;
  thd.set_server_id(static_cast<uint32>(::server_id));
  return changed;
}
inline void KillQuery(THD& thd) {
  mysql_mutex_lock(&thd.LOCK_thd_data);
  thd.awake(THD::KILL_QUERY);
  mysql_mutex_unlock(&thd.LOCK_thd_data);
}
inline bool IsKilled(const THD& thd) { return thd.killed != THD::NOT_KILLED; }
inline bool IsInterruption(int number) {
  return number == ER_QUERY_INTERRUPTED || number == ER_SERVER_SHUTDOWN || number == kInterrupted;
}

// --- The server. Threads: any ---

inline bool SkipsGrantTables() { return skip_grant_tables(); }
inline bool IsReadOnly() { return opt_readonly || opt_super_readonly; }
/// MySQL does not tell whether SET GLOBAL read_only waits for commits under way.
inline bool BecomesReadOnly() { return false; }
inline bool IsOffline() { return mysqld_offline_mode(); }
inline bool ShowsOtherVersion() { return false; }
inline bool IsBootstrap() { return opt_initialize; }
inline ulong OpenTablesMax() { return table_cache_size; }
template <typename Look>
auto LookAtVariable(THD* thd, std::string_view name, enum_var_type type, Look look) {
  mysql_rwlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const auto seen = look(variable != nullptr ? variable->value_ptr(thd, thd, type, {}) : nullptr);
  mysql_rwlock_unlock(&LOCK_system_variables_hash);
  return seen;
}
inline timespec InNanoseconds(ulonglong wait_ns) {
  timespec until;
  set_timespec_nsec(&until, wait_ns);
  return until;
}

}  // namespace rowsocket::engine::server
