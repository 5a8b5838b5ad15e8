// What the servers that this library is built for name differently: one small inline function for
// each difference, so that the files of src/engine/server are the same for all of them. Included by
// api.h alone, after the server's headers and compat.h.
//
// Some functions (IsInnodb, SetBlob) have the same body in each family's folder: they use members
// of the server's classes, which another family may name otherwise.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::engine::server {

inline constexpr const char* kServerName = "MySQL";

/// The table reference by which a table is opened and locked.
using TableReference = Table_ref;

using TriggerEvent = enum_trigger_event_type;

/// The server's end of a connection.
using ServerVio = Vio;

// --- Columns ---

inline const char* NameText(const Field& field) { return field.field_name; }
inline std::string_view NameOf(const Field& field) { return field.field_name; }
/// The position of the column in the table, from 0.
inline uint NumberOf(const Field& field) { return field.field_index(); }
inline bool IsGenerated(const Field& field) { return field.is_gcol(); }
inline bool IsBlob(const Field& field) { return field.is_flag_set(BLOB_FLAG); }
inline bool IsZerofill(const Field& field) { return field.is_flag_set(ZEROFILL_FLAG); }
/// Whether SQL may name the column. Columns of functional indexes have no name.
inline bool IsNamed(const Field& field) { return !field.is_hidden_by_system(); }
inline bool IsNullable(const Field& field) { return field.is_nullable(); }
inline bool HasOnUpdate(const Field& field) {
  return field.has_update_default_datetime_value_expression();
}
/// Whether the column is ENUM or SET, which have a character set and are sorted as numbers.
inline bool HasLabels(const Field& field) {
  return field.real_type() == MYSQL_TYPE_ENUM || field.real_type() == MYSQL_TYPE_SET;
}
/// Whether values of the column are compared as texts.
inline bool ComparesAsText(const Field& field) {
  return field.cmp_type() == STRING_RESULT || HasLabels(field);
}
/// decimals() of a FLOAT or DOUBLE without a fixed number of decimals.
inline constexpr uint kDecimalsNotFixed = DECIMAL_NOT_SPECIFIED;

/// The type in which SQL adds to a column.
enum class Arithmetic : uint8_t { kInteger, kDecimal, kReal, kText };
inline Arithmetic ArithmeticOf(const Field& field) {
  // As the number that SQL makes of a TIME, with its fraction.
  if (is_temporal_type(field.type()) && field.type() != MYSQL_TYPE_YEAR) {
    return Arithmetic::kDecimal;
  }
  if (HasLabels(field)) return Arithmetic::kText;
  switch (field.cmp_type()) {
    case REAL_RESULT:
      return Arithmetic::kReal;
    case DECIMAL_RESULT:
      return Arithmetic::kDecimal;
    case INT_RESULT:
      return Arithmetic::kInteger;
    default:
      return Arithmetic::kText;
  }
}
/// Whether SQL adds to the DOUBLE that the column's text is; otherwise to an integer alone.
inline bool AddsRealsTo(const Field& field) {
  return field.result_type() == STRING_RESULT && !HasLabels(field);
}

/// Where the column's value lies in the row, and the bit that says that it is NULL.
inline uchar* BytesOf(const Field& field) { return const_cast<uchar*>(field.field_ptr()); }
inline const uchar* NullByteOf(const Field& field) {
  return field.is_nullable() ? const_cast<Field&>(field).get_null_ptr() : nullptr;
}
inline uchar NullBitOf(const Field& field) { return field.null_bit; }
/// The text that SQL shows for the column, in the column's character set. The text of a FLOAT or
/// DOUBLE takes to an exponent where SQL's text protocol does (Protocol_text::store_double in
/// sql/protocol_classic.cc): Field::val_str has room for fewer digits.
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
/// Lets the column point to these bytes, which must outlive the row.
inline void SetBlob(Field_blob& field, std::string& bytes) {
  field.set_ptr(static_cast<uint32>(bytes.size()), reinterpret_cast<uchar*>(bytes.data()));
}

/// Notes that a statement gives the column a value of its own.
inline void MarkAsGiven(Field& field) {
  bitmap_set_bit(&field.table->def_fields_set_during_insert, field.field_index());
}
inline void ForgetGiven(TABLE& table) { bitmap_clear_all(&table.def_fields_set_during_insert); }
inline bool WasGiven(const Field& field) {
  return bitmap_is_set(&field.table->def_fields_set_during_insert, field.field_index());
}

/// False for types whose values are bytes that their type alone explains.
inline bool IsTraditional(const Field&) { return true; }
inline bool IsVector(const Field& field) { return field.real_type() == MYSQL_TYPE_VECTOR; }
/// Whether the wire's text is given to the column as bytes, and not as text in UTF-8.
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

/// Whether Field::store has kept the value, apart from a fraction or a time of day that the type
/// leaves out.
inline bool IsStoredButForRest(type_conversion_status result) {
  return result == TYPE_OK || result == TYPE_NOTE_TIME_TRUNCATED || result == TYPE_NOTE_TRUNCATED;
}

/// Gives the column NULL, or what a column without NULL takes for it. False when it takes nothing.
inline bool StoreNull(Field* field) {
  return set_field_to_null_with_conversions(field, /*no_conversions=*/false) == TYPE_OK;
}

/// The value of a column of times as a number that orders as the times do.
inline longlong PackedTimeOf(THD*, const Field& field, bool is_duration) {
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

/// Marks the column, and the columns it is generated from, for the next reads.
inline void MarkForReading(Field& field) {
  field.table->mark_column_used(&field, MARK_COLUMNS_READ);
}

/// Adds the generated column to the map, with the columns that its expression names.
inline void MarkBase(Field& field, MY_BITMAP* map) {
  bitmap_union(map, &field.gcol_info->base_columns_map);
  bitmap_set_bit(map, field.field_index());
}

// --- Searches ---

/// The search for the one row of a whole unique key, in a find. With HA_READ_KEY_EXACT InnoDB may
/// take a shortcut through its adaptive hash index (row_sel_try_search_shortcut_for_mysql in
/// MySQL's row0sel.cc) that copies the row without its page's latch, so that a row that is being
/// changed in place is read torn, uncommitted, or not at all (bug 101667 of MySQL). This search
/// finds the same row, is ended by the first row that has another key, and never takes the
/// shortcut, because it need not be for one row.
inline constexpr ha_rkey_function kSingleRowSearch = HA_READ_PREFIX_LAST;

// --- Errors of a statement, as SQL words them ---

/// Whether SQL takes NULL for no value of a generated column.
inline constexpr bool kNullLeavesGenerated = false;
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
/// Whether texts that differ in blanks at their ends differ.
inline bool ComparesBlanks(const CHARSET_INFO& charset) { return charset.pad_attribute == NO_PAD; }
inline uint LevelsOf(const CHARSET_INFO& charset) { return charset.levels_for_compare; }
/// Reads the number at the front of a text. `*end` is behind it; the result is an E_DEC_ number.
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
inline bool IsSameName(const char* left, const char* right) {
  return my_strcasecmp(system_charset_info, left, right) == 0;
}
inline void FoldCase(const CHARSET_INFO* charset, std::string* name) {
  name->resize(my_casedn_str(charset, name->data()));
}

/// Whether the name stands for a table's file of a version before 5.1. MySQL knows none any more.
inline bool IsOldName(std::string_view) { return false; }

// --- Keys ---

inline std::string_view NameOf(const KEY& key) { return key.name; }
/// Whether rows are found by the key's order or equality. False for full-text, spatial and
/// multi-valued indexes.
inline bool IsSearchable(const KEY& key) {
  return (key.flags & (HA_FULLTEXT | HA_SPATIAL | HA_MULTI_VALUED_KEY)) == 0;
}
inline bool IsFullText(const KEY& key) { return (key.flags & HA_FULLTEXT) != 0; }
/// Whether the key's uniqueness is kept by a hash over its columns.
inline constexpr bool IsHash(const KEY&) { return false; }
/// Whether the key is the table itself, so that its entries hold all columns.
inline bool IsClustered(const TABLE& table, uint key) {
  return key == table.s->primary_key && table.file->primary_key_is_clustered();
}
/// Lets finds read the index alone, where it has all columns that they need.
inline void BeginKeyRead(TABLE& table, uint) { table.set_keyread(true); }
inline void EndKeyRead(TABLE& table) { table.set_keyread(false); }
/// Tells the engine of BeginKeyRead again, after handler::start_stmt.
inline void ResumeKeyRead(TABLE& table) {
  if (table.key_read) table.file->ha_extra(HA_EXTRA_KEYREAD);
}
/// Whether the server's own merging of partitions cannot compare this part of a key.
inline bool MergesPartitionsBy(const Field&) { return false; }

// --- Tables ---

inline bool MakeBitmap(MY_BITMAP* bitmap, uint bits) { return !bitmap_init(bitmap, nullptr, bits); }
inline void FreeBitmap(MY_BITMAP* bitmap) { bitmap_free(bitmap); }

/// The server shows a step of its own while it locks; after that the session's text stands again.
inline MYSQL_LOCK* LockTables(THD* thd, std::vector<TABLE*>& tables, bool) {
  const char* const shown = thd->proc_info();
  MYSQL_LOCK* const lock = mysql_lock_tables(thd, tables.data(), tables.size(), 0);
  thd->set_proc_info(shown);
  return lock;
}
inline void UnlockTables(THD* thd, MYSQL_LOCK* lock, bool) { mysql_unlock_tables(thd, lock); }

/// Whether the statement gives the table's AUTO_INCREMENT column a value of its own.
inline void SetGivesAutoIncrement(TABLE& table, bool gives) {
  table.autoinc_field_has_explicit_non_null_value = gives;
}

/// Adds what the handler has counted to the statistics of the server. There are none in MySQL.
inline void PublishStatistics(TABLE&) {}

inline bool HasGenerated(const TABLE& table) { return table.has_gcol(); }
/// Has the expressions of generated columns let go of the statement's memory.
inline void ForgetGenerated(TABLE& table) { table.cleanup_value_generator_items(); }
inline bool HasChecks(const TABLE& table) {
  return table.table_check_constraint_list != nullptr &&
         !table.table_check_constraint_list->empty();
}
/// Whether the table's engine can take a statement back.
inline bool RollsBack(const TABLE& table) { return table.file->has_transactions(); }
/// Whether InnoDB, where it is read only, finds rows only when a table is locked.
inline constexpr bool kReadOnlyNeedsLocks = false;
/// Whether InnoDB writes the ids of transactions to its log: every 256th, and each transaction that
/// locks rows has one, unless it is read only (trx_sys_allocate_trx_id in trx0sys.ic).
inline constexpr bool kLogsTransactionIds = true;
/// Whether a column's value may be computed where none is given, by DEFAULT or ON UPDATE.
inline bool HasComputedDefaults(const TABLE& table) {
  return std::any_of(table.field, table.field + table.s->fields, [](const Field* field) {
    return HasOnUpdate(*field) || field->has_insert_default_datetime_value_expression() ||
           field->has_insert_default_general_value_expression();
  });
}
inline bool HasPeriod(const TABLE&) { return false; }
/// Whether a default value comes from a sequence, which is a table of its own.
inline bool HasSequences(const TABLE&) { return false; }
/// Whether the server keeps values unique beyond the engine's own indexes.
inline bool HasServersUniqueKeys(const TABLE&) { return false; }
/// Whether the server keeps an index of the table in a table of its own beside it.
inline bool HasVectorIndexTable(const TABLE&) { return false; }
inline void BeginStatementOfVectorIndexTable(THD*, TABLE*) {}
/// Whether replicas find the rows of an event all at once, by what the rows hold: they do not find
/// a row that the event changes twice. So it is where no unique key without NULL tells rows apart.
inline bool ReplicasLookUpRowsTogether(const TABLE& table) {
  return table.s->primary_key == MAX_KEY;
}
inline bool IsPartitioned(const TABLE& table) { return table.part_info != nullptr; }
inline bool IsInnodb(const TABLE& table) { return table.file->ht->db_type == DB_TYPE_INNODB; }
/// Whether the server, and not the engine, looks after the table's foreign keys.
inline bool ServerChecksForeignKeys(const TABLE& table) {
  return table.s->foreign_keys != 0 || table.s->foreign_key_parents != 0;
}
inline bool IsReferenced(const TABLE& table) { return table.s->is_referenced_by_foreign_key(); }

/// How many labels an ENUM or SET column has. REQUIRES: it is one.
inline uint LabelsOf(const Field& field) {
  return static_cast<uint>(static_cast<const Field_enum&>(field).typelib->count);
}

/// Whether rows of the past stand beside the present ones (system versioning).
inline bool KeepsHistory(const TABLE&) { return false; }
inline bool EndsHistory(const Field&) { return false; }
inline bool IsHistory(const TABLE&) { return false; }
inline void MarkHistoryForReading(const TABLE&) {}

/// Prepares the handler of a statement that writes. `sets_fields`: values of columns change.
inline int PrepareToWrite(handler&, bool) { return 0; }
inline void MarkForInsert(TABLE& table) { table.mark_columns_needed_for_insert(table.in_use); }
inline void MarkForUpdate(TABLE& table) {
  table.mark_columns_needed_for_update(table.in_use, /*mark_binlog_columns=*/true);
}
inline void MarkForDelete(TABLE& table) { table.mark_columns_needed_for_delete(table.in_use); }

/// Drops what the query cache has of the table. MySQL has no query cache.
inline void ForgetQueries(THD*, TABLE*) {}

/// Whether the open table must be opened anew.
inline bool IsOutOfDate(const TABLE& table) {
  return table.s->has_old_version() || table.has_invalid_dict() ||
         const_cast<TABLE&>(table).has_invalid_stats();
}
/// Gives back the metadata locks of tables that are closed.
inline void ReleaseTableMetadataLocks(THD* thd) { thd->mdl_context.release_transactional_locks(); }

// --- The server ---

/// Privileges as GRANT has them.
using ServerPrivileges = Access_bitmask;
/// Whether the server runs with skip-grant-tables.
inline bool SkipsGrantTables() { return skip_grant_tables(); }

/// The number of the error in the diagnostics area; 0: there is none.
inline uint ErrorNumberOf(const THD& thd) {
  return thd.is_error() ? thd.get_stmt_da()->mysql_errno() : 0;
}
/// A group commit of the binary log leaves another durability behind.
inline void ExpectRegularDurability(THD* thd) { thd->durability_property = HA_REGULAR_DURABILITY; }
/// For MariaDB's mysql.transaction_registry alone.
inline void NoteTransactionStart(THD*) {}

/// Forgets what statements have reported, besides the diagnostics area itself.
inline void ForgetConditions(THD& thd) {
  Diagnostics_area* const area = thd.get_stmt_da();
  if (area->current_statement_cond_count() != 0) area->reset_condition_info(&thd);
  thd.clear_error();
}
/// The option of a session by which rows are checked: foreign_key_checks.
inline constexpr ulonglong kCheckOptions = OPTION_NO_FOREIGN_KEY_CHECKS;
/// Takes over the global variables that this family alone has. Whether one has changed that the
/// expressions of open tables were prepared with.
inline bool FollowOwnVariables(THD& thd) {
  thd.variables.binlog_trx_compression = global_system_variables.binlog_trx_compression;
  return false;
}

/// Ends the statement that the THD runs, as SQL's KILL QUERY does. Threads: any that keeps the THD
/// from ending.
inline void KillQuery(THD& thd) {
  mysql_mutex_lock(&thd.LOCK_thd_data);
  thd.awake(THD::KILL_QUERY);
  mysql_mutex_unlock(&thd.LOCK_thd_data);
}
inline bool IsKilled(const THD& thd) { return thd.killed != THD::NOT_KILLED; }
/// The handler's error of a request that KILL ends.
inline constexpr int kInterrupted = HA_ERR_QUERY_INTERRUPTED;
/// Whether the error says that KILL or shutdown has ended the statement.
inline bool IsInterruption(int number) {
  return number == ER_QUERY_INTERRUPTED || number == ER_SERVER_SHUTDOWN || number == kInterrupted;
}
inline bool IsReadOnly() { return opt_readonly || opt_super_readonly; }
/// MySQL does not tell whether SET GLOBAL read_only waits for commits under way.
inline bool BecomesReadOnly() { return false; }
/// Whether the server serves administrators alone (offline_mode).
inline bool IsOffline() { return mysqld_offline_mode(); }
/// Whether the server shows clients another version than it has.
inline bool ShowsOtherVersion() { return false; }
/// Whether the server only makes its own tables (--initialize), and serves nobody.
inline bool OnlyMakesItsTables() { return opt_initialize; }
/// How many tables the server may keep open.
inline ulong OpenTablesMax() { return table_cache_size; }

/// Gives `look` the place of a variable's value in memory, or null where the server has no such
/// variable. The variable is not removed while `look` runs.
template <typename Look>
auto LookAtVariable(THD* thd, std::string_view name, enum_var_type type, Look look) {
  mysql_rwlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const auto seen = look(variable != nullptr ? variable->value_ptr(thd, thd, type, {}) : nullptr);
  mysql_rwlock_unlock(&LOCK_system_variables_hash);
  return seen;
}
/// The greatest innodb_force_recovery with which InnoDB still writes, by MySQL's manual.
inline constexpr ulong kRecoveryThatWrites = 3;

inline timespec InNanoseconds(ulonglong wait_ns) {
  timespec until;
  set_timespec_nsec(&until, wait_ns);
  return until;
}

}  // namespace rowsocket::engine::server
