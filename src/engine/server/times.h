// Times as SQL reads them in a text that is compared with a column. One .cc for each family of
// servers: in MariaDB the item of the text reads them, in MySQL functions that convert a text to a
// time.
//
// Threads: the session's.
#pragma once

#include <string_view>

#include "api.h"

namespace rowsocket::engine::server {

struct TimeText {
  longlong packed = 0;   ///< The time in the form in which PackedTimeOf gives a column's.
  bool is_none = false;  ///< The text is no time; `packed` is the zero date.
  /// The text, which is compared with a TIME, also has a date: `=` then finds no row. Only in
  /// MariaDB; in MySQL `=` ignores the date.
  bool has_date = false;
};

/// Reads the time in a text. `is_duration`: for a column of TIME. The THD's sql_mode says which
/// dates are accepted.
TimeText ReadTime(THD* thd, std::string_view text, bool is_duration);

}  // namespace rowsocket::engine::server
