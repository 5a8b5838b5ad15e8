// What a client is told of an error, with the prefix by which clients tell errors apart.
#include <string>

#include "frontend/resp/rows.h"
#include "frontend/resp/store.h"
#include "model/error_number.h"

namespace rowsocket::frontend {

using model::ErrorCode;

namespace {

std::string Quoted(std::string_view name, char quote) {
  std::string text(1, quote);
  for (const char byte : name.substr(0, 192)) {
    if (byte == quote) text += quote;
    text += byte;
  }
  return text += quote;
}

/// What the account needs on the table for the command.
std::string_view PrivilegesOf(RespVerb verb) {
  switch (verb) {
    case RespVerb::kFlush:
    case RespVerb::kDel:
    case RespVerb::kGetDel:
      return "SELECT, DELETE";
    case RespVerb::kHDel:
    case RespVerb::kHIncrBy:
    case RespVerb::kHIncrByFloat:
    case RespVerb::kPersist:
    case RespVerb::kGetEx:
      return "SELECT, UPDATE";
    case RespVerb::kExpire:
      return "SELECT, UPDATE, DELETE";
    case RespVerb::kEval:
      return "SELECT, INSERT, UPDATE, DELETE";
    case RespVerb::kHSet:
    case RespVerb::kHMSet:
    case RespVerb::kHSetNx:
      return "SELECT, INSERT, UPDATE";
    default:
      break;
  }
  return IsStringVerb(verb) && !ReadsString(verb) ? "SELECT, INSERT, UPDATE" : "SELECT";
}

}  // namespace

std::string Blame(size_t number) {
  return number == 0 ? "WATCH: " : "command " + std::to_string(number) + ": ";
}

std::string RespDeniedText(const RespCall& call, const model::Account& account) {
  const bool is_of_store = call.is_string && call.container == nullptr;
  const std::string_view db = is_of_store ? "rowsocket" : call.key.db;
  const std::string_view table = is_of_store ? "store" : call.key.table;
  return "NOPERM a privilege is missing: GRANT " + std::string(PrivilegesOf(call.verb)) + " ON " +
         Quoted(db, '`') + "." + Quoted(table, '`') + " TO " + Quoted(account.user(), '\'') + "@" +
         Quoted(account.host(), '\'');
}

std::string RespNoField(const RespCall& call) {
  if (call.keyspace == nullptr || call.keyspace->fields.empty())
    return RespErrorText({ErrorCode::kFld}, RespWork());
  return NamesFields(call.verb)
             ? "NOFIELD the table has no column of this name beside its key, or `fields` of "
               "rowsocket.keyspaces leaves it out"
             : "NOFIELD `fields` of rowsocket.keyspaces has a column that the table does not have";
}

std::string RespNoTable(const RespCall& call, bool tells) {
  const std::string table = Quoted(call.key.db, '`') + "." + Quoted(call.key.table, '`');
  return "NOTABLE rowsocket.keyspaces has for this prefix a table that is not there" +
         (tells ? ": " + table : std::string());
}

std::string RespErrorText(const model::Error& error, const RespWork& work) {
  if (!work.wrong.empty()) return std::string(work.wrong);
  switch (error.code) {
    case ErrorCode::kUnauth:
      return "NOAUTH Authentication required.";
    case ErrorCode::kDenied:
      return "NOPERM the account lacks a privilege on the table: GRANT it";
    case ErrorCode::kNeedtls:
      return "NEEDTLS this port wants TLS (resp_ssl=REQUIRED)";
    case ErrorCode::kAccountRate:
      return "RATE the account has made more requests than resp_account_requests_per_second";
    case ErrorCode::kLockTables:
    case ErrorCode::kReadonly:
      return "READONLY the server takes no writes now: read_only, or the table is locked";
    case ErrorCode::kLockWait:
      return "TRYAGAIN not done: the row was locked for longer than innodb_lock_wait_timeout";
    case ErrorCode::kDeadlock:
      return "TRYAGAIN not done: a deadlock whenever it was tried";
    case ErrorCode::kOpenTable:
    case ErrorCode::kView:
    case ErrorCode::kSequence:
    case ErrorCode::kSystemTable:
    case ErrorCode::kTableEngine:
      return "NOTABLE no table of this name is served here: keys are schema.table:key";
    case ErrorCode::kIdxnum:
      return "NOTABLE the table has no such index, or no primary key";
    case ErrorCode::kFld:
      return "NOFIELD the table has no column of this name beside its key";
    case ErrorCode::kKpnum:
      return "NOROW the key has not one value for each column of a unique index: a:b, \\: is a "
             "colon";
    case ErrorCode::kResultsize:
      return "TOOLARGE the reply is larger than resp_reply_max_bytes";
    case ErrorCode::kTrigger:
      return "CONSTRAINT the table has triggers, which are not run: write it by SQL";
    case ErrorCode::kVersioned:
      return "CONSTRAINT the table is system-versioned: write it by SQL";
    case ErrorCode::kTokenTable:
      return "NOTOKENS the table rowsocket.tokens is not there or not as it should be: run "
             "rowsocket_tokens.sql";
    case ErrorCode::kTokenDiffers:
      return "TOKENDIFFERS the token was used for another transaction; nothing was done";
    case ErrorCode::kIndexop:
      return "NOTSERVED this index has no order: use another one, or SQL";
    case ErrorCode::kFilterblob:
      return "NOTSERVED ROW.REQUIRE compares no column of BLOB or TEXT: use another one, or SQL";
    case ErrorCode::kCharset:
      return "CONSTRAINT the value of ROW.REQUIRE has a character that the column's character set "
             "does not have";
    case ErrorCode::kGroup:
      return "CONSTRAINT the table's engine cannot take a write back";
    case ErrorCode::kUnserved:
      return "NOTSERVED the library does not serve this table in this server: use SQL";
    case ErrorCode::kGalera:
      return "NOTSERVED the Galera cluster would not get this write: wsrep_on, or the table's "
             "engine";
    case ErrorCode::kOffline:
      return "OFFLINE the server's offline_mode is ON";
    case ErrorCode::kNotReady:
      return "OFFLINE the node of the Galera cluster is not ready: wsrep_ready, "
             "wsrep_reject_queries (1047)";
    case ErrorCode::kKilled:
      return "KILLED not done: KILL, or the server's shutdown, ended the request";
    case ErrorCode::kInternal:
      return "ERR the server failed without saying why (168)";
    case ErrorCode::kEngine:
      break;
    default:
      return "CONSTRAINT " + std::string(model::Name(error.code));
  }
  const std::string_view meaning = model::MeaningOf(error.number);
  const std::string number = std::to_string(error.number);
  const bool is_read_only = model::IsOfReadOnly(error.number);
  if (model::IsOfServer(error.number) || is_read_only) {
    return (is_read_only ? "READONLY " : "ERR ") +
           (meaning.empty() ? "the server failed: perror " + number + " says why"
                            : std::string(meaning) + " (" + number + ")");
  }
  return "CONSTRAINT " + (meaning.empty() ? "the server refuses it with error " + number
                                          : std::string(meaning) + " (" + number + ")");
}

}  // namespace rowsocket::frontend
