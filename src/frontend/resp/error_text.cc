// What a client is told of an error, with the prefix by which clients tell errors apart.
#include <string>

#include "frontend/resp/rows.h"

namespace rowsocket::frontend {

using model::ErrorCode;

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
      return "NOFIELD the table has no column of this name";
    case ErrorCode::kKpnum:
      return "NOROW the key has not one value for each column of a unique index: a:b, \\: is a "
             "colon";
    case ErrorCode::kResultsize:
      return "TOOLARGE the reply is larger than resp_reply_max_bytes";
    case ErrorCode::kTrigger:
      return "CONSTRAINT the table has triggers, which are not run: write it by SQL";
    case ErrorCode::kVersioned:
      return "CONSTRAINT the table is system-versioned: write it by SQL";
    case ErrorCode::kGroup:
      return "CONSTRAINT the table's engine cannot take a write back";
    case ErrorCode::kEngine:
      break;
    default:
      return "CONSTRAINT " + std::string(model::Name(error.code));
  }
  switch (error.number) {
    case 121:
      return "CONSTRAINT a row with this unique key is there already (121)";
    case 151:
      return "CONSTRAINT the row that a foreign key refers to is not there (151)";
    case 152:
      return "CONSTRAINT a foreign key of another row refers to this row (152)";
    case 1048:
      return "CONSTRAINT the column cannot be NULL (1048)";
    default:
      return "CONSTRAINT the server refuses it with error " + std::to_string(error.number);
  }
}

}  // namespace rowsocket::frontend
