// What the servers that this library is built for name differently: one small function for each
// difference, so that the other files of src/engine/server are the same for all of them. Declared
// and described here; each family's folder defines all of them, inline, in its accessors.h, or in
// its compat.h if the versions of one family differ. A function that a family does not define,
// or defines with other parameters, is a warning of its build, and an error in the tests' builds.
// Some functions (IsInnodb, SetBlob) have the same body in each folder: they use members of the
// server's classes, whose names another family may change.
//
// The family's accessors.h defines these types before it includes this file:
//
//   TableReference    the table reference by which a table is opened and locked
//   TriggerEvent      insert, update or delete, as triggers name them
//   ServerVio         the server's end of a connection
//   ServerPrivileges  privileges as GRANT has them
//
// and these constants:
//
//   kServerName           what clients call the server
//   kDecimalsNotFixed     decimals() of a FLOAT or DOUBLE without a fixed number of decimals
//   kSingleRowSearch      the search for the one row of a whole unique key, in a find
//   kIndexHasPadding      whether an index orders a CHAR with the blanks that pad it, where the
//                         collation does not ignore blanks at the end
//   kNullLeavesGenerated  whether SQL takes NULL for a generated column as "no value given"
//   kReadOnlyNeedsLocks   whether InnoDB, if it is read only, finds rows only when a table is
//                         locked
//   kLogsTransactionIds   whether InnoDB writes the ids of transactions to its log
//   kCheckOptions         the options of a session by which rows are checked
//   kInterrupted          the handler's error of a request that KILL ends
//   kForceRecoveryMaxForWrites
//                         the greatest innodb_force_recovery with which InnoDB still writes
//
// Threads: the session's own, unless a function says otherwise. Only LockTables waits for other
// sessions, and only functions that make a std::string may throw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rowsocket::engine::server {

// --- Columns ---

inline const char* NameText(const Field& field);
inline std::string_view NameOf(const Field& field);
/// Whether the column has this name; as in SQL, case does not count.
inline bool HasName(const Field& field, const LEX_CSTRING& name);
/// The position of the column in the table, from 0.
inline uint NumberOf(const Field& field);
inline bool IsGenerated(const Field& field);
inline bool IsBlob(const Field& field);
inline bool IsZerofill(const Field& field);
/// Whether SQL may name the column.
inline bool IsNamed(const Field& field);
inline bool IsNullable(const Field& field);
inline bool HasOnUpdate(const Field& field);
/// Whether values of the column are compared as texts.
inline bool ComparesAsText(const Field& field);

/// The type in which SQL adds to a column: INT_RESULT, DECIMAL_RESULT, REAL_RESULT, or, for a text,
/// STRING_RESULT.
inline Item_result ArithmeticOf(const Field& field);
/// Whether SQL adds to the column's text as to a DOUBLE; otherwise only as to an integer.
inline bool AddsRealsTo(const Field& field);

/// Where the column's value lies in the row, and the bit that says that it is NULL. The byte is
/// null if the column is NOT NULL.
inline uchar* BytesOf(const Field& field);
inline const uchar* NullByteOf(const Field& field);
inline uchar NullBitOf(const Field& field);
/// The text that SQL shows for the column, in the column's character set. Null: memory ran out.
inline const String* TextOf(Field& field, String* buffer);

inline uint LengthBytesOf(const Field_varstring& field);
inline const uchar* BlobOf(const Field_blob& field);
/// Makes the column point to these bytes, which must outlive the row.
inline void SetBlob(Field_blob& field, std::string& bytes);

/// Notes that a statement gives the column a value of its own.
inline void MarkAsGiven(Field& field);
inline void ForgetGiven(TABLE& table);
inline bool WasGiven(Field& field);

/// False for types whose stored bytes only the type itself can read, such as UUID and INET6.
inline bool IsTraditional(const Field& field);
inline bool IsVector(const Field& field);
/// Whether the wire's text is given to the column as bytes, and not as text in UTF-8.
inline bool TakesBytes(const Field& field);
inline bool IsPlainDate(const Field& field);
inline bool IsPlainDatetime(const Field& field);
/// Whether the column is a VARCHAR or VARBINARY that holds one value as it was given.
inline bool IsPlainVarchar(const Field& field);
/// Whether the column is a BLOB or TEXT that holds one value as it was given.
inline bool IsPlainBlob(const Field& field);
/// How many labels an ENUM or SET column has. REQUIRES: it is one.
inline uint LabelsOf(const Field& field);

/// Whether Field::store, which gave `result`, has kept the value, apart from a fraction or a time
/// of day that the type leaves out.
inline bool IsStoredButForRest(int result);
/// Gives the column NULL, or the value that a NOT NULL column takes for NULL. False when it takes
/// none.
inline bool StoreNull(Field* field);
/// The value of a column of times as a number that orders as the times do.
inline longlong PackedTimeOf(THD* thd, Field& field, bool is_duration);
/// Whether the TIMESTAMP's seconds are 0. `*microseconds`: its fraction.
inline bool IsZeroTimestamp(const Field& field, ulong* microseconds);

/// Makes the next reads fill the column, and the columns that it is generated from.
inline void MarkForReading(Field& field);
/// Adds the generated column to the map, with the columns that its expression names.
inline void MarkWithBaseColumns(Field& field, MY_BITMAP* map);

// --- Errors of a statement, as SQL words them ---

inline void RaiseGivenGenerated(const Field& field);
inline void RaiseWrongNumber(const Field& field);

// --- Texts and numbers ---

inline void FreeBytes(String& text);
inline bool IsUtf8(const CHARSET_INFO& charset);
inline bool IsWellFormed(const CHARSET_INFO& charset, std::string_view text);
/// Whether texts that differ in blanks at their ends differ.
inline bool ComparesBlanks(const CHARSET_INFO& charset);
inline uint LevelsOf(const CHARSET_INFO& charset);
/// Reads the number at the front of a text. `*end` is after it; the result is an E_DEC_ number.
inline int ReadDecimal(std::string_view text, my_decimal* decimal, const char** end);
inline double ReadDouble(std::string_view text, const char** end, int* error);
inline bool IsTableName(std::string_view name);
/// Makes the name's letters lower case, by the rules of the character set.
inline void FoldCase(const CHARSET_INFO* charset, std::string* name);
/// Whether the server takes the name, because of its prefix `#mysql50#`, for the name of a file of
/// a table made before version 5.1.
inline bool IsMysql50Name(std::string_view name);

// --- Keys ---

inline std::string_view NameOf(const KEY& key);
/// Whether rows are found by the key's order or equality.
inline bool IsSearchable(const KEY& key);
inline bool IsFullText(const KEY& key);
/// Whether the key's uniqueness is kept by a hash over its columns.
inline bool IsHash(const KEY& key);
/// Whether the key is the table itself, so that its entries hold all columns.
inline bool IsClustered(const TABLE& table, uint key);
/// Makes finds read only the index, which has all columns that they need.
inline void BeginKeyRead(TABLE& table, uint key);
inline void EndKeyRead(TABLE& table);
/// Tells the engine of BeginKeyRead again, after handler::start_stmt.
inline void ResumeKeyRead(TABLE& table);
/// Whether the server's own merging of partitions cannot compare this part of a key.
inline bool MergesPartitionsBy(const Field& field);

// --- Tables ---

inline bool MakeBitmap(MY_BITMAP* bitmap, uint bits);
inline void FreeBitmap(MY_BITMAP* bitmap);

/// Locks the tables as SQL does, which may wait. Null: the diagnostics area has the error.
/// `outlasts_turn`: the lock lives longer than the statement's memory.
inline MYSQL_LOCK* LockTables(THD* thd, std::vector<TABLE*>& tables, bool outlasts_turn);
inline void UnlockTables(THD* thd, MYSQL_LOCK* lock, bool outlasts_turn);
/// Gives back the metadata locks of tables that are closed.
inline void ReleaseTableMetadataLocks(THD* thd);

/// Prepares the handler of a statement that writes. `sets_fields`: values of columns change.
inline int PrepareToWrite(handler& file, bool sets_fields);
inline void MarkForInsert(TABLE& table);
inline void MarkForUpdate(TABLE& table);
inline void MarkForDelete(TABLE& table);
/// Whether the statement gives the table's AUTO_INCREMENT column a value of its own.
inline void SetGivesAutoIncrement(TABLE& table, bool gives);

/// Adds what the handler has counted to the server's statistics of tables and indexes (userstat).
inline void PublishStatistics(TABLE& table);

/// Frees values of more than `bytes` bytes that were stored in BLOB and TEXT columns, or computed
/// for them. Afterwards the row in record[0] cannot be read.
inline void FreeValuesAbove(TABLE& table, size_t bytes);

inline bool HasGenerated(const TABLE& table);
/// Makes the expressions of generated columns let go of the statement's memory.
inline void ForgetGenerated(TABLE& table);
inline bool HasChecks(const TABLE& table);
/// Whether the engine, or that of the partitions, can take a statement back.
inline bool RollsBack(const TABLE& table);
/// Whether a column's value may be computed if none is given, by DEFAULT or ON UPDATE.
inline bool HasComputedDefaults(const TABLE& table);
/// Whether expressions of the open table keep what they once took from the session, such as today's
/// date or the state of RAND.
inline bool HasSessionExpressions(const TABLE& table);
inline bool HasPeriod(const TABLE& table);
/// Whether a default value comes from a sequence, which is a table of its own.
inline bool HasSequences(const TABLE& table);
/// Whether the server itself keeps values unique, beyond what the engine's indexes do.
inline bool HasServersUniqueKeys(const TABLE& table);
/// Whether the server keeps an index of the table in a second table. When a row of such a table
/// fails after the engine has changed it, only a rollback of the whole statement takes the change
/// back.
inline bool HasVectorIndexTable(const TABLE& table);
/// Tells the table of a VECTOR index (HasVectorIndexTable) that another statement begins.
inline void BeginStatementOfVectorIndexTable(THD* thd, TABLE* table);
/// Whether replicas look up all rows of an event at once, so that an event must not have a row
/// twice.
inline bool ReplicasLookUpRowsTogether(const TABLE& table);
inline bool IsPartitioned(const TABLE& table);
inline bool IsInnodb(const TABLE& table);
/// Whether the server, and not the engine, looks after the table's foreign keys.
inline bool ServerChecksForeignKeys(const TABLE& table);
inline bool IsReferenced(const TABLE& table);

/// Whether the table keeps rows of the past next to the present ones (system versioning).
inline bool IsSystemVersioned(const TABLE& table);
/// Whether the column holds the end of a row's validity. A system-versioned table adds this column
/// to the end of every unique key.
inline bool IsRowEnd(const Field& field);
/// Whether the row in record[0] is a row of the past. REQUIRES: IsSystemVersioned.
inline bool IsHistoricalRow(const TABLE& table);
inline void MarkRowEndForReading(const TABLE& table);
/// Gives the end of a row's time in record[0] what it is in a current row. REQUIRES:
/// IsSystemVersioned.
inline void SetRowEndOfCurrent(const TABLE& table);
/// Whether the server has added the column to a system-versioned table by itself: SQL shows it only
/// where it is named.
inline bool IsAddedByServer(const Field& field);

/// Drops what the query cache, if the server has one, holds of the table.
inline void ForgetQueries(THD* thd, TABLE* table);
/// Whether the open table must be opened anew.
inline bool IsOutOfDate(const TABLE& table);

// --- The session ---

/// The number of the error in the diagnostics area; 0: there is none.
inline uint ErrorNumberOf(const THD& thd);
/// Forgets what statements have reported, besides the diagnostics area itself.
inline void ForgetConditions(THD& thd);
/// Forgets what the last writing statement has noted about its values: how many were cut off, and
/// on what of the session they depended.
inline void ForgetGivenValues(THD& thd);
/// Sets the session's variables that decide how its transactions begin.
inline void SetTransactionVariables(THD& thd, enum_tx_isolation isolation, bool is_read_only);
/// Gives the next commit the usual durability, which an earlier commit of the THD may have changed.
inline void ExpectRegularDurability(THD* thd);
/// Notes the time at which a transaction that writes begins, if the server keeps it.
inline void NoteTransactionStart(THD* thd);
/// Takes over the global variables that only this family has. Returns whether a variable has
/// changed with which expressions of open tables were prepared.
inline bool FollowOwnVariables(THD& thd);
/// Ends the statement that the THD runs, as SQL's KILL QUERY does.
/// Threads: any that keeps the THD from ending.
inline void KillQuery(THD& thd);
inline bool IsKilled(const THD& thd);
/// Whether the error says that KILL or shutdown has ended the statement.
inline bool IsInterruption(int number);

// --- The server. Threads: any ---

/// Whether the server runs with skip-grant-tables.
inline bool SkipsGrantTables();
inline bool IsReadOnly();
/// Whether read_only is about to be set: SET GLOBAL read_only waits for commits under way. False
/// if the server does not tell; IsReadOnly is asked as well.
inline bool BecomesReadOnly();
/// Whether the server serves only administrators (offline_mode).
inline bool IsOffline();
/// Whether the server shows clients another version than it has.
inline bool ShowsOtherVersion();
/// Whether the server was started only to make its own tables (mariadb-install-db, --initialize),
/// and serves nobody.
inline bool IsBootstrap();
/// How many tables the server may keep open.
inline ulong OpenTablesMax();
/// Calls `look` with the address of a variable's value, or with null if the server has no such
/// variable (without InnoDB, for example). The variable stays while `look` runs.
template <typename Look>
auto LookAtVariable(THD* thd, std::string_view name, enum_var_type type, Look look);
/// The time `wait_ns` nanoseconds from now, by the clock of the server's conditions.
inline timespec InNanoseconds(ulonglong wait_ns);

}  // namespace rowsocket::engine::server
