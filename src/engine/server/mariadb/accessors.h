// What the servers that this library is built for name differently: one small inline function for
// each difference, so that the files of src/engine/server are the same for all of them. Included by
// api.h alone, after the server's headers and compat.h.
//
// Some functions (IsInnodb, SetBlob) have the same body in each family's folder: they use members
// of the server's classes, which another family may name otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

// The server declares this function in a header that cannot be included here.
extern sys_var* intern_find_sys_var(const char* name, size_t bytes);

namespace rowsocket::engine::server {

/// The table reference by which a table is opened and locked.
using TableReference = TABLE_LIST;

using TriggerEvent = trg_event_type;

/// The server's end of a connection.
using ServerVio = st_vio;

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

inline bool IsNullable(const Field& field) { return field.real_maybe_null(); }
inline bool HasOnUpdate(const Field& field) { return field.has_update_default_function(); }
/// Whether values of the column are compared as texts.
inline bool ComparesAsText(const Field& field) { return field.cmp_type() == STRING_RESULT; }
/// decimals() of a FLOAT or DOUBLE without a fixed number of decimals.
inline constexpr uint kDecimalsNotFixed = FLOATING_POINT_DECIMALS;

/// The type in which SQL adds to a column.
enum class Arithmetic : uint8_t { kInteger, kDecimal, kReal, kText };
inline Arithmetic ArithmeticOf(const Field& field) {
  switch (field.cmp_type()) {
    case REAL_RESULT:
      return Arithmetic::kReal;
    case DECIMAL_RESULT:
      return Arithmetic::kDecimal;
    case TIME_RESULT:  // As the number that SQL makes of a TIME, with its fraction.
      return Arithmetic::kDecimal;
    case INT_RESULT:
      return Arithmetic::kInteger;
    default:
      return Arithmetic::kText;
  }
}
/// Whether SQL adds to the DOUBLE that the column's text is; otherwise to an integer alone.
inline bool AddsRealsTo(const Field&) { return false; }

/// Where the column's value lies in the row, and the bit that says that it is NULL.
inline uchar* BytesOf(const Field& field) { return field.ptr; }
inline const uchar* NullByteOf(const Field& field) {
  return field.real_maybe_null() ? field.null_ptr : nullptr;
}
inline uchar NullBitOf(const Field& field) { return field.null_bit; }
/// The text that SQL shows for the column, in the column's character set.
inline const String* TextOf(Field& field, String* buffer) { return field.val_str(buffer); }

inline uint LengthBytesOf(const Field_varstring& field) { return field.length_bytes; }
inline const uchar* BlobOf(const Field_blob& field) { return field.get_ptr(); }
/// Lets the column point to these bytes, which must outlive the row.
inline void SetBlob(Field_blob& field, std::string& bytes) {
  field.set_ptr(static_cast<uint32>(bytes.size()), reinterpret_cast<uchar*>(bytes.data()));
}

/// Notes that a statement gives the column a value of its own.
inline void MarkAsGiven(Field& field) { field.set_has_explicit_value(); }
inline void ForgetGiven(TABLE& table) { table.reset_default_fields(); }
inline bool WasGiven(Field& field) { return field.has_explicit_value(); }

/// False for UUID, INET4, INET6 and the like, whose values are bytes that their type alone
/// explains.
inline bool IsTraditional(const Field& field) {
  return field.type_handler()->is_traditional_scalar_type();
}
/// Whether the wire's text is given to the column as bytes, and not as text in UTF-8.
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

/// Whether Field::store has kept the value, apart from a fraction or a time of day that the type
/// leaves out.
inline bool IsStoredButForRest(int result) {
  constexpr int kNote = 3;  // The result of Field_temporal::store when it only cut off a rest.
  return result == 0 || result == kNote;
}

/// Gives the column NULL, or what a column without NULL takes for it. False when it takes nothing.
inline bool StoreNull(Field* field) {
  return set_field_to_null_with_conversions(field, /*no_conversions=*/false) >= 0;
}

/// The value of a column of times as a number that orders as the times do.
inline longlong PackedTimeOf(THD* thd, Field& field, bool is_duration) {
  return is_duration ? field.val_time_packed(thd) : field.val_datetime_packed(thd);
}
inline bool IsZeroTimestamp(const Field& field, ulong* microseconds) {
  return field.get_timestamp(microseconds) == 0;
}

/// Marks the column, and the columns it is generated from, for the next reads.
inline void MarkForReading(Field& field) { field.register_field_in_read_map(); }
/// Adds the generated column to the map, with the columns that its expression names.
inline void MarkBase(Field& field, MY_BITMAP* map) {
  MY_BITMAP*& reads = field.table->read_set;
  MY_BITMAP* const previous = reads;
  reads = map;
  MarkForReading(field);
  reads = previous;
}

// --- Searches ---

/// The search for the one row of a whole unique key, in a find.
inline constexpr ha_rkey_function kSingleRowSearch = HA_READ_KEY_EXACT;

// --- Errors of a statement, as SQL words them ---

/// Whether SQL takes NULL for no value of a generated column.
inline constexpr bool kNullLeavesGenerated = true;
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
inline bool IsWellFormed(CHARSET_INFO& charset, std::string_view text) {
  return Well_formed_prefix(&charset, text.data(), text.size()).length() == text.size();
}
/// Whether texts that differ in blanks at their ends differ.
inline bool ComparesBlanks(const CHARSET_INFO& charset) {
  return (charset.state & MY_CS_NOPAD) != 0;
}
inline uint LevelsOf(const CHARSET_INFO& charset) { return charset.levels_for_order; }
/// Reads the number at the front of a text. `*end` is behind it; the result is an E_DEC_ number.
inline int ReadDecimal(std::string_view text, my_decimal* decimal, const char** end) {
  return str2my_decimal(E_DEC_OK, text.data(), text.size(), &my_charset_latin1, decimal, end);
}
inline double ReadDouble(std::string_view text, const char** end, int* error) {
  char* behind = nullptr;
  const double value =
      my_charset_latin1.strntod(const_cast<char*>(text.data()), text.size(), &behind, error);
  *end = behind;
  return value;
}

/// Whether the name stands for a table's file of a version before 5.1.
inline bool IsOldName(std::string_view name) { return name.starts_with(MYSQL50_TABLE_NAME_PREFIX); }

// --- Keys ---

inline std::string_view NameOf(const KEY& key) { return {key.name.str, key.name.length}; }
/// Whether the key's uniqueness is kept by a hash over its columns.
inline bool IsHash(const KEY& key) { return key.algorithm == HA_KEY_ALG_LONG_HASH; }
/// Whether the key is the table itself, so that its entries hold all columns.
inline bool IsClustered(const TABLE& table, uint key) {
  return table.file->pk_is_clustering_key(key);
}
/// Lets finds read the index alone, where it has all columns that they need.
inline void BeginKeyRead(TABLE& table, uint key) { table.file->ha_start_keyread(key); }
inline void EndKeyRead(TABLE& table) { table.file->ha_end_keyread(); }
/// Tells the engine of BeginKeyRead again, after handler::start_stmt.
inline void ResumeKeyRead(TABLE& table) {
  if (table.file->keyread_enabled()) table.file->extra(HA_EXTRA_KEYREAD);
}
/// Whether the server's own merging of partitions cannot compare this part of a key: it computes
/// virtual columns only in record[0].
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

/// Whether the statement gives the table's AUTO_INCREMENT column a value of its own.
inline void SetGivesAutoIncrement(TABLE& table, bool gives) {
  table.auto_increment_field_not_null = gives;
}

/// Adds what the handler has counted to the statistics of the server (userstat).
inline void PublishStatistics(TABLE& table) {
  table.file->update_global_table_stats();
  table.file->update_global_index_stats();
}

inline bool HasGenerated(const TABLE& table) { return table.vfield != nullptr; }
/// Has the expressions of generated columns let go of the statement's memory. In MariaDB they have
/// memory of the table's.
inline void ForgetGenerated(TABLE&) {}
inline bool HasChecks(const TABLE& table) { return table.check_constraints != nullptr; }
/// Whether the table's engine, or its partitions' engine, can take a statement back.
inline bool RollsBack(const TABLE& table) {
  return table.file->has_transactions() &&
         (table.file->partition_ht()->flags & HTON_NO_ROLLBACK) == 0;
}
/// Whether InnoDB, where it is read only, takes the isolation that finds rows there, READ
/// UNCOMMITTED, only when a table is locked (innodb_isolation_level in ha_innodb.cc).
inline constexpr bool kReadOnlyNeedsLocks = true;
/// Whether InnoDB writes the ids of transactions to its log. MariaDB finds the last id anew when it
/// starts.
inline constexpr bool kLogsTransactionIds = false;
/// Whether a column's value may be computed where none is given, by DEFAULT or ON UPDATE.
inline bool HasComputedDefaults(const TABLE& table) { return table.default_field != nullptr; }
inline bool HasPeriod(const TABLE& table) { return table.s->period.name.str != nullptr; }
/// Whether a default value comes from a sequence, which is a table of its own.
inline bool HasSequences(const TABLE& table) { return table.internal_tables != nullptr; }
/// Whether the server keeps values unique beyond the engine's own indexes.
inline bool HasServersUniqueKeys(const TABLE& table) {
  return table.s->long_unique_table || table.s->period.unique_keys != 0;
}
/// Whether replicas find the rows of an event all at once, so that an event must not have one
/// twice.
inline bool ReplicasLookUpRowsTogether(const TABLE&) { return false; }
inline bool IsPartitioned(const TABLE& table) { return table.part_info != nullptr; }
inline bool IsInnodb(const TABLE& table) { return table.file->ht->db_type == DB_TYPE_INNODB; }
/// Whether the server, and not the engine, looks after the table's foreign keys.
inline bool ServerChecksForeignKeys(const TABLE&) { return false; }
inline bool IsReferenced(const TABLE& table) { return table.file->referenced_by_foreign_key(); }

/// How many labels an ENUM or SET column has. REQUIRES: it is one.
inline uint LabelsOf(const Field& field) {
  return static_cast<uint>(TypelibOf(static_cast<const Field_enum&>(field))->count);
}

/// Whether rows of the past stand beside the present ones (system versioning).
inline bool KeepsHistory(const TABLE& table) { return table.versioned(); }
/// Whether the column is the end of a row's time, which every unique key has behind its own
/// columns.
inline bool EndsHistory(const Field& field) { return (field.flags & VERS_ROW_END) != 0; }
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

/// Whether the open table must be opened anew. needs_reopen() does not tell of FLUSH TABLES and
/// OPTIMIZE.
inline bool IsOutOfDate(const TABLE& table) {
  return const_cast<TABLE&>(table).needs_reopen() || table.s->tdc->flushed;
}
/// Gives back the metadata locks of tables that are closed.
inline void ReleaseTableMetadataLocks(THD* thd) {
  thd->mdl_context.release_transactional_locks(thd);
}

// --- The server ---

/// Privileges as GRANT has them.
using ServerPrivileges = privilege_t;
/// Whether the server runs with skip-grant-tables.
inline bool SkipsGrantTables() { return opt_noacl; }

/// The number of the error in the diagnostics area; 0: there is none.
inline uint ErrorNumberOf(const THD& thd) {
  return thd.is_error() ? thd.get_stmt_da()->sql_errno() : 0;
}
/// A commit of MySQL alone may leave another durability behind (durability_property).
inline void ExpectRegularDurability(THD*) {}
/// For mysql.transaction_registry.
inline void NoteTransactionStart(THD* thd) { thd->transaction->start_time.reset(thd); }

/// Forgets what statements have reported, besides the diagnostics area itself.
inline void ForgetConditions(THD& thd) {
  Diagnostics_area* const area = thd.get_stmt_da();
  if (area->current_statement_warn_count() != 0) area->clear_warning_info(thd.query_id);
  thd.is_fatal_error = false;
}
/// Options of a session by which rows are checked: foreign_key_checks, check_constraint_checks.
inline constexpr ulonglong kCheckOptions =
    OPTION_NO_FOREIGN_KEY_CHECKS | OPTION_NO_CHECK_CONSTRAINT_CHECKS;
/// Takes over the global variables that this family alone has. Whether one has changed that the
/// expressions of open tables were prepared with.
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
  return changed;
}

/// Ends the statement that the THD runs, as SQL's KILL QUERY does. Threads: any that keeps the THD
/// from ending.
inline void KillQuery(THD& thd) { thd.awake(KILL_QUERY); }
inline bool IsKilled(const THD& thd) { return thd.killed != NOT_KILLED; }
/// The handler's error of a request that KILL ends.
inline constexpr int kInterrupted = HA_ERR_ABORTED_BY_USER;
/// Whether the error says that KILL or shutdown has ended the statement.
inline bool IsInterruption(int number) {
  return number == ER_QUERY_INTERRUPTED || number == ER_SERVER_SHUTDOWN || number == kInterrupted ||
         number == ER_CONNECTION_KILLED;
}
inline bool IsReadOnly() { return opt_readonly; }
/// Whether read_only is set, or SET GLOBAL read_only waits for commits under way.
inline bool BecomesReadOnly() { return read_only; }
/// Whether the server serves administrators alone. MariaDB has no offline_mode.
inline constexpr bool IsOffline() { return false; }
inline constexpr const char* kServerName = "MariaDB";
/// Whether the server only makes its own tables (mariadb-install-db), and serves nobody.
inline bool OnlyMakesItsTables() { return opt_bootstrap; }
/// How many tables the server may keep open.
inline ulong OpenTablesMax() { return tc_size; }

/// Gives `look` the place of a variable's value in memory, or null where the server has no such
/// variable, as without InnoDB. The variable is not removed while `look` runs.
template <typename Look>
auto LookAtVariable(THD* thd, std::string_view name, enum_var_type type, Look look) {
  const LEX_CSTRING none = {nullptr, 0};
  mysql_prlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const auto seen = look(variable != nullptr ? variable->value_ptr(thd, type, &none) : nullptr);
  mysql_prlock_unlock(&LOCK_system_variables_hash);
  return seen;
}
/// The greatest innodb_force_recovery with which InnoDB still writes (high_level_read_only in
/// srv0start.cc).
inline constexpr ulong kRecoveryThatWrites = 4;

inline timespec InNanoseconds(ulonglong wait_ns) {
  timespec until;
  set_timespec_nsec(until, wait_ns);
  return until;
}

}  // namespace rowsocket::engine::server
