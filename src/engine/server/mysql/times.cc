#include "engine/server/times.h"

namespace rowsocket::engine::server {

TimeText ReadTime(THD* thd, std::string_view text, bool is_duration) {
  MYSQL_TIME time;
  MYSQL_TIME_STATUS status;
  TimeText read;
  if (is_duration) {
    // A text that is no time is taken for 00:00:00, and a time beyond the limits for the nearest
    // one.
    const bool failed = str_to_time(&my_charset_utf8mb4_general_ci, text.data(), text.size(), &time,
                                    TIME_NO_FLAGS, &status);
    read.is_none = failed || time.time_type == MYSQL_TIMESTAMP_ERROR;
    if (read.is_none) time = MYSQL_TIME{};
    read.packed = Time_val::strip_date(time).for_comparison();
    // A text that only begins with a time (5x) is sorted as that time.
    read.is_none = read.is_none || (status.warnings & MYSQL_TIME_WARN_TRUNCATED) != 0;
    return read;
  }
  const my_time_flags_t flags = Field_temporal::temporal_flags(thd->variables.sql_mode);
  const bool failed = str_to_datetime(&my_charset_utf8mb4_general_ci, text.data(), text.size(),
                                      &time, flags, &status);
  read.is_none = failed;
  if (failed) return read;
  // SQL moves a time with an offset of its own (2024-12-31 10:00:00+02:00) into the session's zone.
  if (time.time_type == MYSQL_TIMESTAMP_DATETIME_TZ) {
    convert_time_zone_displacement(thd->time_zone(), &time);
  }
  read.packed = TIME_to_longlong_datetime_packed(time);
  return read;
}

}  // namespace rowsocket::engine::server
