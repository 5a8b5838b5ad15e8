// The meaning of the error numbers of a server and its storage engines that a request can meet, in
// words that a client is told.
//
// Threads: constant data. Source of the numbers: include/my_base.h (HA_ERR_*) and the servers' own
// error lists (ER_*).
#pragma once

#include <string_view>

namespace rowsocket::model {

/// Empty: the number is not one of those that a request usually meets.
constexpr std::string_view MeaningOf(int number) {
  switch (number) {
    case 28:
    case 135:
    case 1021:
    case 1114:
      return "the disk or the table is full";
    case 121:
    case 163:
    case 1062:
      return "another row has this value in a unique index";
    case 151:
    case 1452:
      return "a foreign key has no such parent row";
    case 152:
    case 1451:
      return "a foreign key refers to this row";
    case 139:
    case 181:
      return "the row is too large";
    case 160:
      return "no partition of the table takes the row";
    case 167:
      return "the AUTO_INCREMENT value is out of range";
    case 1036:
    case 1290:
    case 1792:
      return "the server (read_only) or the table is read only";
    case 1048:
      return "a column cannot be NULL";
    case 1264:
    case 1265:
    case 1292:
    case 1366:
    case 1406:
      return "a value does not fit its column";
    case 1364:
      return "a column that is not given has no default";
    case 3140:
      return "a value is no JSON document";
    case 3819:
    case 4025:
      return "a CHECK constraint does not hold";
    default:
      return {};
  }
}

/// Whether the number says that the server cannot store anything now, whatever the row is.
constexpr bool IsOfReadOnly(int number) {
  return number == 1036 || number == 1290 || number == 1792;
}

/// Whether the number is a failure of the server or its disk, which another row would meet as well:
/// an error of the operating system or a storage engine that is not about a row's values, or a
/// table or disk that is full.
constexpr bool IsOfServer(int number) {
  if (number >= 1000) return number == 1021 || number == 1114;
  switch (number) {
    case 121:
    case 139:  // The row is too large.
    case 151:
    case 152:
    case 160:  // No partition takes the value.
    case 163:
    case 167:
    case 179:  // A column of an index is too long.
    case 181:
      return false;
    default:
      return true;
  }
}

/// Whether the number is a failure that an administrator has to end: one of the server, or an
/// AUTO_INCREMENT column that is used up.
constexpr bool IsForAdministrators(int number) {
  return number == 167 || (!IsOfReadOnly(number) && IsOfServer(number));
}

}  // namespace rowsocket::model
