// The meaning of the error numbers of a server and its storage engines that a request can meet, in
// words for clients.
//
// Threads: constant data.
// Source of the numbers: include/my_base.h (HA_ERR_*) and the servers' own error lists (ER_*).
#pragma once

#include <string_view>

namespace rowsocket::model {

/// The meaning; empty: requests do not usually meet this number.
constexpr std::string_view MeaningOf(int number) {
  switch (number) {
    case 28:    // ENOSPC
    case 135:   // HA_ERR_RECORD_FILE_FULL
    case 1021:  // ER_DISK_FULL
    case 1114:  // ER_RECORD_FILE_FULL
      return "the disk or the table is full";
    case 121:   // HA_ERR_FOUND_DUPP_KEY
    case 163:   // HA_ERR_FOREIGN_DUPLICATE_KEY
    case 1062:  // ER_DUP_ENTRY
      return "another row has this value in a unique index";
    case 151:   // HA_ERR_NO_REFERENCED_ROW
    case 1452:  // ER_NO_REFERENCED_ROW_2
      return "a foreign key has no such parent row";
    case 152:   // HA_ERR_ROW_IS_REFERENCED
    case 1451:  // ER_ROW_IS_REFERENCED_2
      return "a foreign key refers to this row";
    case 139:  // HA_ERR_TO_BIG_ROW, HA_ERR_TOO_BIG_ROW
    case 181:  // HA_ERR_UNDO_REC_TOO_BIG
      return "the row is too large";
    case 1197:  // ER_TRANS_CACHE_FULL
      return "a transaction cannot hold the change: max_binlog_cache_size, in a Galera cluster "
             "wsrep_max_ws_size or wsrep_max_ws_rows";
    case 160:   // HA_ERR_NO_PARTITION_FOUND
    case 1526:  // ER_NO_PARTITION_FOR_GIVEN_VALUE
      return "no partition of the table takes the row";
    case 167:  // HA_ERR_AUTOINC_ERANGE
      return "the AUTO_INCREMENT value is out of range";
    case 1036:  // ER_OPEN_AS_READONLY
    case 1290:  // ER_OPTION_PREVENTS_STATEMENT
    case 1792:  // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
    case 3989:  // ER_SCHEMA_READ_ONLY (MySQL)
      return "the server (read_only) or the table is read only";
    case 1048:  // ER_BAD_NULL_ERROR
      return "a column cannot be NULL";
    case 1264:  // ER_WARN_DATA_OUT_OF_RANGE
    case 1265:  // WARN_DATA_TRUNCATED
    case 1292:  // ER_TRUNCATED_WRONG_VALUE
    case 1366:  // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
    case 1406:  // ER_DATA_TOO_LONG
      return "a value does not fit its column";
    case 1364:  // ER_NO_DEFAULT_FOR_FIELD
      return "a column that is not given has no default";
    case 3140:  // ER_INVALID_JSON_TEXT (MySQL)
      return "a value is no JSON document";
    case 3819:  // ER_CHECK_CONSTRAINT_VIOLATED (MySQL)
    case 4025:  // ER_CONSTRAINT_FAILED (MariaDB)
      return "a CHECK constraint does not hold";
    case 1416:  // ER_CANT_CREATE_GEOMETRY_OBJECT
      return "a value is no geometry as the column keeps it: write it by SQL";
    case 1906:  // ER_WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN (MariaDB)
    case 3105:  // ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN (MySQL)
      return "a generated column takes no value";
    default:
      return {};
  }
}

/// Whether the number says that a change is too large for one transaction.
constexpr bool IsTooLargeForTransaction(int number) {
  return number == 1197;
}  // ER_TRANS_CACHE_FULL

/// Whether the number says that the server cannot store anything now, whatever the row is.
constexpr bool IsOfReadOnly(int number) {
  switch (number) {
    case 1036:  // ER_OPEN_AS_READONLY
    case 1290:  // ER_OPTION_PREVENTS_STATEMENT
    case 1792:  // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
    case 3989:  // ER_SCHEMA_READ_ONLY (MySQL)
      return true;
    default:
      return false;
  }
}

/// Whether the number is a failure of the server or its disk, which another row would meet as well:
/// an error of the operating system or a storage engine that is not about a row's values, or a
/// table or disk that is full.
constexpr bool IsOfServer(int number) {
  switch (number) {
    case 1021:  // ER_DISK_FULL
    case 1114:  // ER_RECORD_FILE_FULL
      return true;
    case 121:  // HA_ERR_FOUND_DUPP_KEY
    case 139:  // HA_ERR_TO_BIG_ROW, HA_ERR_TOO_BIG_ROW
    case 151:  // HA_ERR_NO_REFERENCED_ROW
    case 152:  // HA_ERR_ROW_IS_REFERENCED
    case 160:  // HA_ERR_NO_PARTITION_FOUND
    case 163:  // HA_ERR_FOREIGN_DUPLICATE_KEY
    case 167:  // HA_ERR_AUTOINC_ERANGE
    case 179:  // HA_ERR_INDEX_COL_TOO_LONG
    case 181:  // HA_ERR_UNDO_REC_TOO_BIG
      return false;
    default:
      return number < 1000;  // Lower numbers are the operating system's and the storage engine's.
  }
}

/// Whether any write to the table would fail with this number now, whatever its row is. A number
/// that is not known here counts as that of a row.
constexpr bool IsOfTable(int number) {
  switch (number) {
    // Full:
    case 28:    // ENOSPC
    case 135:   // HA_ERR_RECORD_FILE_FULL
    case 136:   // HA_ERR_INDEX_FILE_FULL
    case 189:   // HA_ERR_DISK_FULL; HA_ERR_TEMP_FILE_WRITE_FAILURE (MySQL)
    case 1021:  // ER_DISK_FULL
    case 1114:  // ER_RECORD_FILE_FULL
    // Read only; see also IsOfReadOnly:
    case 148:  // HA_ERR_READ_ONLY_TRANSACTION
    case 165:  // HA_ERR_TABLE_READONLY
    // Damaged, gone or altered:
    case 126:  // HA_ERR_CRASHED
    case 127:  // HA_ERR_WRONG_IN_RECORD
    case 145:  // HA_ERR_CRASHED_ON_USAGE
    case 155:  // HA_ERR_NO_SUCH_TABLE
    case 159:  // HA_ERR_TABLE_DEF_CHANGED
    case 180:  // HA_ERR_INDEX_CORRUPT
    case 194:  // HA_ERR_TABLESPACE_MISSING; HA_ERR_SE_OUT_OF_MEMORY (MySQL)
    case 195:  // HA_ERR_TABLE_CORRUPT (MySQL)
    case 197:  // HA_ERR_TABLESPACE_MISSING (MySQL); HA_ERR_COMMIT_ERROR (MariaDB)
    // No memory, also none for locks; too many transactions:
    case 128:  // HA_ERR_OUT_OF_MEM
    case 147:  // HA_ERR_LOCK_TABLE_FULL
    case 177:  // HA_ERR_TOO_MANY_CONCURRENT_TRXS
    // Cannot be logged:
    case 161:  // HA_ERR_RBR_LOGGING_FAILED
    case 170:  // HA_ERR_LOGGING_IMPOSSIBLE
    // Killed:
    case 188:  // HA_ERR_ABORTED_BY_USER (MariaDB)
      return true;
    default:
      return IsOfReadOnly(number);
  }
}

/// Whether the table has a row with one of the new row's unique keys.
constexpr bool IsTaken(int number) {
  return number == 121 || number == 141;  // HA_ERR_FOUND_DUPP_KEY, HA_ERR_FOUND_DUPP_UNIQUE
}

/// Whether the number is a failure that an administrator has to end: one of the server, or an
/// AUTO_INCREMENT column that is used up.
constexpr bool IsForAdministrators(int number) {
  constexpr int kAutoIncrementRange = 167;  // HA_ERR_AUTOINC_ERANGE
  return number == kAutoIncrementRange || (!IsOfReadOnly(number) && IsOfServer(number));
}

}  // namespace rowsocket::model
