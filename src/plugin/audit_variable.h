// The variable that asks for events of requests for audit plugins: handlersocket_audit and the
// like.
//
// Errors: ON is refused in a server that has no such events.
#pragma once

#include <strings.h>

#include "declare.h"
#include "engine/server/table_audit.h"
#include "plugin/host.h"

namespace rowsocket::plugin {

/// Reads the value of a switch. False: it is neither ON nor OFF.
inline bool ParseSwitch(st_mysql_value* value, bool* is_on) {
  if (value->value_type(value) == MYSQL_VALUE_TYPE_STRING) {
    char room[8];
    int size = sizeof(room);
    const char* const text = value->val_str(value, room, &size);
    if (text == nullptr) return false;
    *is_on = strcasecmp(text, "on") == 0 || strcasecmp(text, "true") == 0;
    return *is_on || strcasecmp(text, "off") == 0 || strcasecmp(text, "false") == 0;
  }
  long long number = 0;
  if (value->val_int(value, &number) != 0) return false;
  *is_on = number == 1;
  return number == 0 || number == 1;
}

inline int CheckAudit(MYSQL_THD, SystemVariable*, void* save, st_mysql_value* value) {
  bool is_on = false;
  if (!ParseSwitch(value, &is_on)) return 1;
  if (is_on && !engine::server::kHasTableAudit) {
    ReportNoAudit();
    return 1;
  }
  *static_cast<ServerBool*>(save) = is_on;
  return 0;
}
/// The name by which the generated declarations refer to CheckAudit.
inline constexpr auto kCheckAudit = CheckAudit;

}  // namespace rowsocket::plugin
