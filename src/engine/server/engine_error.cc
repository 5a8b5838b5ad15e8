#include "engine/server/engine_error.h"

#include "api.h"

namespace rowsocket::engine::server {

model::Error EngineError(int number) {
  if (IsInterruption(number)) return {model::ErrorCode::kKilled};
  switch (number) {
    case HA_ERR_FOUND_DUPP_UNIQUE:
    case ER_DUP_ENTRY:
    case ER_DUP_ENTRY_WITH_KEY_NAME:
    case ER_DUP_KEY:
      return model::Error::Engine(HA_ERR_FOUND_DUPP_KEY);
    case ER_LOCK_WAIT_TIMEOUT:
    case HA_ERR_LOCK_WAIT_TIMEOUT:
      return {model::ErrorCode::kLockWait};
    case ER_LOCK_DEADLOCK:
    case HA_ERR_LOCK_DEADLOCK:
      return {model::ErrorCode::kDeadlock};
    case HA_ERR_GENERIC:
      return {model::ErrorCode::kInternal};
    case ER_ROW_IS_REFERENCED:
    case ER_ROW_IS_REFERENCED_2:
      return model::Error::Engine(HA_ERR_ROW_IS_REFERENCED);
    case ER_NO_REFERENCED_ROW:
    case ER_NO_REFERENCED_ROW_2:
      return model::Error::Engine(HA_ERR_NO_REFERENCED_ROW);
    // A text that is no geometry gives this handler's number.
    case HA_ERR_NULL_IN_SPATIAL:
      return model::Error::Engine(ER_CANT_CREATE_GEOMETRY_OBJECT);
    case HA_ERR_NO_PARTITION_FOUND:
      return model::Error::Engine(ER_NO_PARTITION_FOR_GIVEN_VALUE);
    default:
      return model::Error::Engine(number);
  }
}

}  // namespace rowsocket::engine::server
