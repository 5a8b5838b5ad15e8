#include "engine/server/statement.h"

#include "api.h"
#include "engine/server/engine_error.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

bool HasTriggers(const TABLE& table, int sql_command) {
  if (table.triggers == nullptr) return false;
  const TriggerEvent event = sql_command == SQLCOM_INSERT   ? TRG_EVENT_INSERT
                             : sql_command == SQLCOM_UPDATE ? TRG_EVENT_UPDATE
                                                            : TRG_EVENT_DELETE;
  return table.triggers->has_triggers(event, TRG_ACTION_BEFORE) ||
         table.triggers->has_triggers(event, TRG_ACTION_AFTER);
}

bool Statement::LostEvents(const Outcome& outcome) {
  return outcome.error == model::Error::Engine(ER_TRANS_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_STMT_CACHE_FULL) ||
         outcome.error == model::Error::Engine(ER_ERROR_ON_WRITE) ||
         outcome.error == model::Error::Engine(HA_ERR_RBR_LOGGING_FAILED);
}

Outcome Statement::Failure(int handler_error) {
  // The error is then the one that follows from giving up, whichever it is.
  if (thd_.TakeBusy()) return Outcome::Fail(ErrorCode::kLockWait);
  model::Error error = handler_error != kReported ? EngineError(handler_error) : thd_.TakeError();
  if (error.ok()) error = {ErrorCode::kInternal};
  if (thd_.killed()) error = {ErrorCode::kKilled};
  return Outcome::Of(error);
}

void Statement::SetCommand(int sql_command) {
  thd_.get()->lex->sql_command = static_cast<enum_sql_command>(sql_command);
}

}  // namespace rowsocket::engine::server
