#include "engine/server/innodb_read_only.h"

#include "api.h"

namespace rowsocket::engine::server {

namespace {

/// The least innodb_force_recovery with which InnoDB refuses writes, by MySQL's manual.
constexpr unsigned long kRecoveryWithoutWrites = 4;

/// A global variable of InnoDB that no statement can change.
const uchar* PlaceOf(const char* name) {
  mysql_rwlock_rdlock(&LOCK_system_variables_hash);
  sys_var* const variable = intern_find_sys_var(name, 0);
  const uchar* const place =
      variable != nullptr ? variable->value_ptr(current_thd, current_thd, OPT_GLOBAL, {}) : nullptr;
  mysql_rwlock_unlock(&LOCK_system_variables_hash);
  return place;
}

bool Look() {
  const uchar* const read_only = PlaceOf("innodb_read_only");
  const uchar* const recovery = PlaceOf("innodb_force_recovery");
  return (read_only != nullptr && *reinterpret_cast<const bool*>(read_only)) ||
         (recovery != nullptr &&
          *reinterpret_cast<const unsigned long*>(recovery) >= kRecoveryWithoutWrites);
}

}  // namespace

bool InnodbIsReadOnly() {
  static const bool is_read_only = Look();
  return is_read_only;
}

}  // namespace rowsocket::engine::server
