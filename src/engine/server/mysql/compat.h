// What differs between the lines of MySQL that this library is built for. There is one line, so
// that nothing differs yet: a second one is named below, and gets here one block for each function
// that it has otherwise, "since" the line that has it so, as in the compat.h of MariaDB's folder.
// No other file asks for the server's version (scripts/check-docs). Included by api.h alone, after
// the server's headers.
#pragma once

#if MYSQL_VERSION_ID / 100 != 907
#error \
    "This file knows MySQL 9.7 only: see its first lines, and docs/adr/0004-supported-versions.md"
#endif
