// What engine/server/accessors.h describes, for MariaDB. Included only by api.h, after the
// server's headers and compat.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

// The server declares this function in a header that cannot be included here.
extern sys_var* intern_find_sys_var(const char* name, size_t bytes);

namespace rowsocket::engine::server {

using TableReference = TABLE_LIST;
using TriggerEvent = trg_event_type;
using ServerVio = st_vio;
using ServerPrivileges = privilege_t;

inline constexpr const char* kServerName = "MariaDB";
inline constexpr uint kDecimalsNotFixed = FLOATING_POINT_DECIMALS;
inline constexpr ha_rkey_function kSingleRowSearch = HA_READ_KEY_EXACT;
inline constexpr bool kIndexHasPadding = true;
inline constexpr bool kNullLeavesGenerated = true;
/// A read-only InnoDB finds rows only with READ UNCOMMITTED, which it uses only when a table is
/// locked (innodb_isolation_level in ha_innodb.cc).
inline constexpr bool kReadOnlyNeedsLocks = true;
/// InnoDB of MariaDB looks for the last transaction's id when the server starts.
inline constexpr bool kLogsTransactionIds = false;
/// Set by foreign_key_checks and check_constraint_checks.
inline constexpr ulonglong kCheckOptions =
    OPTION_NO_FOREIGN_KEY_CHECKS | OPTION_NO_CHECK_CONSTRAINT_CHECKS;
inline constexpr int kInterrupted = HA_ERR_ABORTED_BY_USER;
/// The value follows from high_level_read_only in srv0start.cc.
inline constexpr ulong kForceRecoveryMaxForWrites = 4;

}  // namespace rowsocket::engine::server

// Included after the types that it names.
#include "engine/server/accessors.h"

namespace rowsocket::engine::server {

// --- Columns ---

inline const char* NameText(const Field& field) { return field.field_name.str; }
inline std::string_view NameOf(const Field& field) {
  return {field.field_name.str, field.field_name.length};
}
inline uint NumberOf(const Field& field) { return field.field_index; }
inline bool IsGenerated(const Field& field) { return field.vcol_info != nullptr; }
inline bool IsBlob(const Field& field) { return (field.flags & BLOB_FLAG) != 0; }
inline bool IsZerofill(const Field& field) { return (field.flags & ZEROFILL_FLAG) != 0; }
inline bool IsNamed(const Field& field) { return field.invisible < INVISIBLE_FULL; }
inline bool IsNullable(const Field& field) { return field.real_maybe_null(); }
inline bool HasOnUpdate(const Field& field) { return field.has_update_default_function(); }
inline bool ComparesAsText(const Field& field) { return field.cmp_type() == STRING_RESULT; }

/// SQL adds to a TIME as to the number that it makes of the TIME, with its fraction.
inline Item_result ArithmeticOf(const Field& field) {
  const Item_result type = field.cmp_type();
  return type == TIME_RESULT ? DECIMAL_RESULT : type;
}
inline bool AddsRealsTo(const Field&) { return false; }

inline uchar* BytesOf(const Field& field) { return field.ptr; }
inline const uchar* NullByteOf(const Field& field) {
  return field.real_maybe_null() ? field.null_ptr : nullptr;
}
inline uchar NullBitOf(const Field& field) { return field.null_bit; }
inline const String* TextOf(Field& field, String* buffer) { return field.val_str(buffer); }

inline uint LengthBytesOf(const Field_varstring& field) { return field.length_bytes; }
inline const uchar* BlobOf(const Field_blob& field) { return field.get_ptr(); }
inline void SetBlob(Field_blob& field, std::string& bytes) {
  field.set_ptr(static_cast<uint32>(bytes.size()), reinterpret_cast<uchar*>(bytes.data()));
}

inline void MarkAsGiven(Field& field) { field.set_has_explicit_value(); }
inline void ForgetGiven(TABLE& table) { table.reset_default_fields(); }
inline bool WasGiven(Field& field) { return field.has_explicit_value(); }

/// False for UUID, INET4, INET6 and the like.
inline bool IsTraditional(const Field& field) {
  return field.type_handler()->is_traditional_scalar_type();
}
inline bool TakesBytes(const Field& field) {
  const bool is_bytes =
      field.charset() == &my_charset_bin && (IsTraditional(field) || IsVector(field));
  return is_bytes || field.real_type() == MYSQL_TYPE_GEOMETRY;
}
inline bool IsPlainDate(const Field& field) {
  return field.type_handler() == &type_handler_newdate;
}
inline bool IsPlainDatetime(const Field& field) {
  return field.type_handler() == &type_handler_datetime2;
}
/// False for a column that is stored compressed.
inline bool IsPlainVarchar(const Field& field) {
  return field.type_handler() == &type_handler_varchar && field.compression_method() == nullptr;
}
inline bool IsPlainBlob(const Field& field) {
  const Type_handler* type = field.type_handler();
  return field.compression_method() == nullptr &&
         (type == &type_handler_tiny_blob || type == &type_handler_blob ||
          type == &type_handler_medium_blob || type == &type_handler_long_blob);
}
inline uint LabelsOf(const Field& field) {
  return static_cast<uint>(TypelibOf(static_cast<const Field_enum&>(field))->count);
}

inline bool IsStoredButForRest(int result) {
  constexpr int kNote = 3;  // Field_temporal::store returns it when it has only cut off a rest.
  return result == 0 || result == kNote;
}
inline bool StoreNull(Field* field) {
  return set_field_to_null_with_conversions(field, /*no_conversions=*/false) >= 0;
}
inline longlong PackedTimeOf(THD* thd, Field& field, bool is_duration) {
  return is_duration ? field.val_time_packed(thd) : field.val_datetime_packed(thd);
}
inline bool IsZeroTimestamp(const Field& field, ulong* microseconds) {
  return field.get_timestamp(microseconds) == 0;
}

inline void MarkForReading(Field& field) { field.register_field_in_read_map(); }
inline void MarkWithBaseColumns(Field& field, MY_BITMAP* map) {
  MY_BITMAP*& reads = field.table->read_set;
  MY_BITMAP* const previous = reads;
  reads = map;
  MarkForReading(field);
  reads = previous;
}

// --- Errors of a statement, as SQL words them ---

inline void RaiseGivenGenerated(const Field& field) {
  my_error(ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, MYF(0), NameText(field),
           field.table->s->table_name.str);
}
inline void RaiseWrongNumber(const Field& field) {
  my_error(ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, MYF(0), "numeric", "operand", field.table->s->db.str,
           field.table->s->table_name.str, NameText(field), 1UL);
}

// --- Texts and numbers ---

inline void FreeBytes(String& text) { text.free(); }
inline bool IsUtf8(const CHARSET_INFO& charset) {
  return charset.cs_name.str == my_charset_utf8mb4_bin.cs_name.str ||
         charset.cs_name.str == my_charset_utf8mb3_bin.cs_name.str;
}
inline bool IsWellFormed(const CHARSET_INFO& charset, std::string_view text) {
  return Well_formed_prefix(&charset, text.data(), text.size()).length() == text.size();
}
inline bool ComparesBlanks(const CHARSET_INFO& charset) {
  return (charset.state & MY_CS_NOPAD) != 0;
}
inline uint LevelsOf(const CHARSET_INFO& charset) { return charset.levels_for_order; }
inline int ReadDecimal(std::string_view text, my_decimal* decimal, const char** end) {
  return str2my_decimal(E_DEC_OK, text.data(), text.size(), &my_charset_latin1, decimal, end);
}
inline double ReadDouble(std::string_view text, const char** end, int* error) {
  char* after = nullptr;
  const double value =
      my_charset_latin1.strntod(const_cast<char*>(text.data()), text.size(), &after, error);
  *end = after;
  return value;
}
inline bool IsMysql50Name(std::string_view name) {
  return name.starts_with(MYSQL50_TABLE_NAME_PREFIX);
}

// --- Keys ---

inline std::string_view NameOf(const KEY& key) { return {key.name.str, key.name.length}; }
inline bool IsHash(const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; }
inline bool IsClustered(const TABLE& table, uint key) {
  return table.file->pk_is_clustering_key(key);
}
inline void BeginKeyRead(TABLE& table, uint key) { table.file->ha_start_keyread(key); }
inline void EndKeyRead(TABLE& table) { table.file->ha_end_keyread(); }
inline void ResumeKeyRead(TABLE& table) {
  if (table.file->keyread_enabled()) table.file->extra(HA_EXTRA_KEYREAD);
}
/// The server computes virtual columns only in record[0].
inline bool MergesPartitionsBy(const Field& field) { return !field.stored_in_db(); }

// --- Tables ---

inline bool MakeBitmap(MY_BITMAP* bitmap, uint bits) {
  return my_bitmap_init(bitmap, nullptr, bits) == 0;
}
inline void FreeBitmap(MY_BITMAP* bitmap) { my_bitmap_free(bitmap); }

/// A lock that outlasts the turn must not lie in the statement's memory.
inline MYSQL_LOCK* LockTables(THD* thd, std::vector<TABLE*>& tables, bool outlasts_turn) {
  return mysql_lock_tables(thd, tables.data(), static_cast<uint>(tables.size()),
                           outlasts_turn ? MYSQL_LOCK_USE_MALLOC : 0);
}
inline void UnlockTables(THD* thd, MYSQL_LOCK* lock, bool outlasts_turn) {
  mysql_unlock_tables(thd, lock, /*free_lock=*/outlasts_turn);
}
inline void ReleaseTableMetadataLocks(THD* thd) {
  thd->mdl_context.release_transactional_locks(thd);
}

inline void MarkForInsert(TABLE& table) { table.mark_columns_needed_for_insert(); }
inline void MarkForUpdate(TABLE& table) { table.mark_columns_needed_for_update(); }
inline void MarkForDelete(TABLE& table) { table.mark_columns_needed_for_delete(); }
inline void SetGivesAutoIncrement(TABLE& table, bool gives) {
  table.auto_increment_field_not_null = gives;
}

inline void PublishStatistics(TABLE& table) {
  table.file->update_global_table_stats();
  table.file->update_global_index_stats();
}

inline void FreeValuesAbove(TABLE& table, size_t bytes) {
  if (table.s->blob_fields != 0) free_field_buffers_larger_than(&table, static_cast<uint32>(bytes));
}

inline bool HasGenerated(const TABLE& table) { return table.vfield != nullptr; }
/// Nothing to forget: the expressions of generated columns use memory of the table.
inline void ForgetGenerated(TABLE&) {}
inline bool HasChecks(const TABLE& table) { return table.check_constraints != nullptr; }
inline bool RollsBack(const TABLE& table) {
  return table.file->has_transactions() &&
         (table.file->partition_ht()->flags & HTON_NO_ROLLBACK) == 0;
}
inline bool HasComputedDefaults(const TABLE& table) { return table.default_field != nullptr; }
inline bool HasSessionExpressions(const TABLE& table) {
  return table.vcol_refix_list.elements != 0;
}
inline bool HasPeriod(const TABLE& table) { return table.s->period.name.str != nullptr; }
inline bool HasSequences(const TABLE& table) { return table.internal_tables != nullptr; }
inline bool HasServersUniqueKeys(const TABLE& table) {
  return table.s->long_unique_table || table.s->period.unique_keys != 0;
}
inline bool ReplicasLookUpRowsTogether(const TABLE&) { return false; }
inline bool IsPartitioned(const TABLE& table) { return table.part_info != nullptr; }
inline bool IsInnodb(const TABLE& table) { return table.file->ht->db_type == DB_TYPE_INNODB; }
inline bool ServerChecksForeignKeys(const TABLE&) { return false; }
inline bool IsReferenced(const TABLE& table) { return table.file->referenced_by_foreign_key(); }

inline bool IsSystemVersioned(const TABLE& table) { return table.versioned(); }
inline bool IsRowEnd(const Field& field) { return (field.flags & VERS_ROW_END) != 0; }
inline bool IsHistoricalRow(const TABLE& table) { return !table.vers_end_field()->is_max(); }
inline void MarkRowEndForReading(const TABLE& table) {
  if (table.versioned()) table.vers_end_field()->register_field_in_read_map();
}
inline void SetRowEndOfCurrent(const TABLE& table) { table.vers_end_field()->set_max(); }
inline bool IsAddedByServer(const Field& field) { return field.invisible == INVISIBLE_SYSTEM; }

inline void ForgetQueries(THD* thd, TABLE* table) { query_cache_invalidate3(thd, table, 0); }
/// needs_reopen() alone would miss FLUSH TABLES and OPTIMIZE.
inline bool IsOutOfDate(const TABLE& table) {
  return const_cast<TABLE&>(table).needs_reopen() || table.s->tdc->flushed;
}

// --- The session ---

inline uint ErrorNumberOf(const THD& thd) {
  return thd.is_error() ? thd.get_stmt_da()->sql_errno() : 0;
}
inline void ForgetConditions(THD& thd) {
  Diagnostics_area* const area = thd.get_stmt_da();
  if (area->current_statement_warn_count() != 0) area->clear_warning_info(thd.query_id);
  thd.is_fatal_error = false;
}
inline void ForgetGivenValues(THD& thd) {
  thd.used = 0;
  thd.cuted_fields = 0;
}
inline void SetTransactionVariables(THD& thd, enum_tx_isolation isolation, bool is_read_only) {
  thd.variables.tx_isolation = isolation;
  thd.variables.tx_read_only = is_read_only;
}
inline void ExpectRegularDurability(THD*) {}
/// The time goes into mysql.transaction_registry.
inline void NoteTransactionStart(THD* thd) { thd->transaction->start_time.reset(thd); }
inline bool FollowOwnVariables(THD& thd) {
  const system_variables& global = global_system_variables;
  system_variables& mine = thd.variables;
  const bool changed = mine.default_regex_flags != global.default_regex_flags ||
                       mine.old_behavior != global.old_behavior;
  mine.default_regex_flags = global.default_regex_flags;
  mine.old_behavior = global.old_behavior;
  mine.server_id = global.server_id;
  mine.gtid_domain_id = global.gtid_domain_id;
  thd.userstat_running = opt_userstat_running;
  return FollowEncryptionMode(&mine) || changed;
}
inline void KillQuery(THD& thd) { thd.awake(KILL_QUERY); }
inline bool IsKilled(const THD& thd) { return thd.killed != NOT_KILLED; }
inline bool IsInterruption(int number) {
  return number == ER_QUERY_INTERRUPTED || number == ER_SERVER_SHUTDOWN || number == kInterrupted ||
         number == ER_CONNECTION_KILLED;
}

// --- The server. Threads: any ---

inline bool SkipsGrantTables() { return opt_noacl; }
inline bool IsReadOnly() { return opt_readonly; }
inline bool BecomesReadOnly() { return read_only; }
/// MariaDB has no offline_mode.
inline bool IsOffline() { return false; }
inline bool IsBootstrap() { return opt_bootstrap; }
inline ulong OpenTablesMax() { return tc_size; }
template <typename Look>
auto LookAtVariable(THD* thd, std::string_view name, enum_var_type type, Look look) {
  const LEX_CSTRING none = {nullptr, 0};
  mysql_prlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const auto seen = look(variable != nullptr ? variable->value_ptr(thd, type, &none) : nullptr);
  mysql_prlock_unlock(&LOCK_system_variables_hash);
  return seen;
}
inline timespec InNanoseconds(ulonglong wait_ns) {
  timespec until;
  set_timespec_nsec(until, wait_ns);
  return until;
}

}  // namespace rowsocket::engine::server
