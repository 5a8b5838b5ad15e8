#include "engine/server/times.h"

namespace rowsocket::engine::server {

TimeText ReadTime(THD* thd, std::string_view text, bool is_duration) {
  const LEX_CSTRING given = {text.data(), text.size()};
  Item_string item(thd, null_clex_str, given, &my_charset_utf8mb4_general_ci);
  // The item is freed here, and not at the end of the turn, because an IN list has thousands of
  // items.
  thd->free_list = item.next;
  TimeText read;
  read.packed = is_duration ? item.val_time_packed(thd) : item.val_datetime_packed(thd);
  MYSQL_TIME time;
  const bool failed = is_duration ? item.get_date(thd, &time, Time::Options(thd))
                                  : item.get_date(thd, &time, Datetime::Options(thd));
  read.is_none = failed || item.null_value;
  read.has_date = is_duration && !read.is_none && time.time_type != MYSQL_TIMESTAMP_TIME;
  return read;
}

}  // namespace rowsocket::engine::server
