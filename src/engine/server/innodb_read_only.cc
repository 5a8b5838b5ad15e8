#include "engine/server/innodb_read_only.h"

#include "api.h"

namespace rowsocket::engine::server {

namespace {

bool Look() {
  const auto is_set = [](const uchar* place) { return place != nullptr && *place != 0; };
  const auto refuses = [](const uchar* place) {
    return place != nullptr && *reinterpret_cast<const ulong*>(place) > kForceRecoveryMaxForWrites;
  };
  return LookAtVariable(current_thd, "innodb_read_only", OPT_GLOBAL, is_set) ||
         LookAtVariable(current_thd, "innodb_force_recovery", OPT_GLOBAL, refuses);
}

}  // namespace

// No statement can change these variables.
bool InnodbIsReadOnly() {
  static const bool is_read_only = Look();
  return is_read_only;
}

}  // namespace rowsocket::engine::server
