// What differs between the lines of MySQL that this library is built for. There is one line so far,
// so that nothing differs. Name a second line below, and add one block here for each function that
// differs there; its comment says "since" which line, as in the compat.h of MariaDB's folder. No
// block has a side for lines that it does not name, so that the compiler stops in each block when a
// third line comes (1004 stands for the second line):
//
//   inline Item_result ArithmeticOf(const Field& field) {
//   #if ROWSOCKET_LINE == 1004
//     ...
//   #elif ROWSOCKET_LINE == 907
//     ...
//   #else
//   #error "Which side does this line of MySQL take? See the first lines"
//   #endif
//   }
//
// No other file asks for the server's version (scripts/check-tree). Included only by api.h, after
// the server's headers.
#pragma once

/// 9.7 is 907.
#define ROWSOCKET_LINE (MYSQL_VERSION_ID / 100)

#if ROWSOCKET_LINE != 907
#error "This file knows MySQL 9.7 only: see its first lines, and docs/PORTING.md"
#endif
