#include "engine/server/innodb_read_only.h"

#include "api.h"

// The server declares this function in a header that api.h cannot include.
extern sys_var* intern_find_sys_var(const char* name, size_t bytes);

namespace rowsocket::engine::server {

namespace {

/// The greatest innodb_force_recovery with which InnoDB still writes (high_level_read_only in
/// MariaDB's srv0start.cc).
constexpr unsigned long kRecoveryThatWrites = 4;

/// A global variable of InnoDB that no statement can change; null: the server has no InnoDB.
const uchar* PlaceOf(std::string_view name) {
  sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const LEX_CSTRING none = {nullptr, 0};
  return variable != nullptr ? variable->value_ptr(current_thd, OPT_GLOBAL, &none) : nullptr;
}

bool Look() {
  const uchar* const read_only = PlaceOf("innodb_read_only");
  const uchar* const recovery = PlaceOf("innodb_force_recovery");
  return (read_only != nullptr && *reinterpret_cast<const my_bool*>(read_only)) ||
         (recovery != nullptr &&
          *reinterpret_cast<const unsigned long*>(recovery) > kRecoveryThatWrites);
}

}  // namespace

bool InnodbIsReadOnly() {
  static const bool is_read_only = Look();
  return is_read_only;
}

}  // namespace rowsocket::engine::server
