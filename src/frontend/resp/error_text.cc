#include "frontend/resp/error_text.h"

#include <algorithm>

#include "frontend/resp/watch.h"
#include "keyspace/config.h"
#include "model/cause_texts.h"
#include "model/error_number.h"
#include "model/limits.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using model::ErrorCode;

namespace {

constexpr int kDataTooLong = 1406;  // ER_DATA_TOO_LONG
constexpr std::string_view kNoWritesNow =
    "READONLY the server takes no writes now: read_only, or the schema is READ ONLY";
constexpr std::string_view kColumnsChanged =
    "TRYAGAIN not done: the table's columns have changed since the command before";
constexpr std::string_view kNoTableServed =
    "NOTABLE no table of this name is served here: keys are schema.table:key";
constexpr model::CauseText kCauses[] = {
    {ErrorCode::kUnauth, "NOAUTH Authentication required."},
    {ErrorCode::kDenied, "NOPERM the account lacks a privilege on the table: GRANT it"},
    {ErrorCode::kNeedtls, "NEEDTLS this port wants TLS (resp_ssl=REQUIRED)"},
    {ErrorCode::kAccountRate,
     "RATE the account has made more requests than resp_account_requests_per_second"},
    {ErrorCode::kLockTables,
     "READONLY not done: the table was locked for longer than resp_wrlock_timeout"},
    {ErrorCode::kReadonly, kNoWritesNow},
    {ErrorCode::kLockWait,
     "TRYAGAIN not done: the row was locked for longer than innodb_lock_wait_timeout"},
    {ErrorCode::kDeadlock, "TRYAGAIN not done: a deadlock whenever it was tried"},
    {ErrorCode::kOpenTable, kNoTableServed},
    {ErrorCode::kView, "NOTABLE this is a view: name the table that it reads, or use SQL"},
    {ErrorCode::kSequence, "NOTABLE this is a sequence: use SQL"},
    {ErrorCode::kSystemTable, kNoTableServed},
    {ErrorCode::kTableEngine, "NOTABLE the table's engine cannot be served: use SQL"},
    {ErrorCode::kIdxnum,
     "NOTABLE the table has no index of this name that finds rows by their key: FULLTEXT, SPATIAL, "
     "VECTOR and multi-valued ones do not"},
    {ErrorCode::kFld, "NOFIELD the table has no column of this name beside its key"},
    {ErrorCode::kKpnum,
     "NOROW the key has not one value for each column of a unique index: a:b, \\: is a "
     "colon"},
    {ErrorCode::kResultsize, "TOOLARGE the reply is larger than resp_reply_max_bytes"},
    {ErrorCode::kTrigger, "CONSTRAINT the table has triggers, which are not run: write it by SQL"},
    {ErrorCode::kVersioned, "CONSTRAINT the table is system-versioned: write it by SQL"},
    {ErrorCode::kTokenTable,
     "NOTOKENS the table rowsocket.tokens is not there or not as it should be: run "
     "rowsocket_tokens.sql"},
    {ErrorCode::kTokenDiffers,
     "TOKENDIFFERS the token was used for another transaction; nothing was done"},
    {ErrorCode::kIndexop, "NOTSERVED this index has no order: use another one, or SQL"},
    {ErrorCode::kFilterblob,
     "NOTSERVED ROW.REQUIRE compares no column of BLOB or TEXT: use another one, or SQL"},
    {ErrorCode::kCharset,
     "CONSTRAINT the value of ROW.REQUIRE has a character that the column's character set "
     "does not have"},
    {ErrorCode::kGroup, "CONSTRAINT the table's engine cannot take a write back"},
    {ErrorCode::kUnserved,
     "NOTSERVED the library does not serve this table in this server: use SQL"},
    {ErrorCode::kGalera,
     "NOTSERVED the Galera cluster would not get this write: wsrep_on, or the table's "
     "engine"},
    {ErrorCode::kOffline, "OFFLINE the server's offline_mode is ON"},
    {ErrorCode::kNotReady,
     "OFFLINE the node of the Galera cluster is not ready: wsrep_ready, "
     "wsrep_reject_queries (1047)"},
    {ErrorCode::kKilled, "KILLED not done: KILL, or the server's shutdown, ended the request"},
    {ErrorCode::kInternal, "ERR the server failed without saying why (168)"},
};
/// kEngine is told by its number, kRefused by the words of its request (RespWork::wrong), the
/// others by their names.
constexpr ErrorCode kCausesWithoutWords[] = {
    ErrorCode::kEngine,      ErrorCode::kCmd,    ErrorCode::kLineLength,  ErrorCode::kAuthtype,
    ErrorCode::kStmtnum,     ErrorCode::kNumber, ErrorCode::kInvalueslen, ErrorCode::kFiltertype,
    ErrorCode::kFilterfld,   ErrorCode::kOp,     ErrorCode::kKlen,        ErrorCode::kValuesCount,
    ErrorCode::kModop,       ErrorCode::kToken,  ErrorCode::kClientName,  ErrorCode::kNotimpl,
    ErrorCode::kUnavailable, ErrorCode::kRefused};
static_assert(model::HaveEachCauseOnce(kCauses, kCausesWithoutWords));

std::string Quoted(std::string_view name, char quote) {
  std::string text(1, quote);
  for (const char byte : name.substr(0, 192)) {
    if (byte == quote) text += quote;
    text += byte;
  }
  return text += quote;
}

/// The privileges on the table that the command needs.
std::string_view PrivilegesOf(const RespCall& call) {
  if (call.move == nullptr) return TraitsOf(call.verb).privileges;
  return call.move->removes ? "SELECT, INSERT, UPDATE, DELETE" : "SELECT, INSERT, UPDATE";
}

/// SQL's number for an engine's error about a key; other numbers stay as they are.
int NumberInSql(int code) {
  switch (code) {
    case 121:  // HA_ERR_FOUND_DUPP_KEY
      return 1062;
    case 151:  // HA_ERR_NO_REFERENCED_ROW
      return 1452;
    case 152:  // HA_ERR_ROW_IS_REFERENCED
      return 1451;
    default:
      return code;
  }
}

/// What a client is told of ER_DATA_TOO_LONG where the call shows that no value of the client's is
/// too long for its column. Empty: it does not show that.
std::string_view WhyTooLong(const RespCall& call) {
  if (IsOfStore(call) && call.key.parts.size() == 2 &&
      call.key.parts[1].text().size() > model::kRespStoreKeyBytesMax) {
    static_assert(model::kRespStoreKeyBytesMax == 1024, "the text names the limit");
    return "CONSTRAINT the key of a string is longer than 1,024 bytes (1406)";
  }
  if (call.verb == RespVerb::kHIncrBy || call.verb == RespVerb::kHIncrByFloat)
    return "CONSTRAINT the column cannot hold the sum as it is: it is too short, or a FLOAT, which "
           "shows fewer digits than it holds (1406)";
  return {};
}

/// What a client is told of a call that the engine refuses: its table is not as the call needs it.
/// Empty: the engine's error says it all.
std::string_view WhyTableDoesNotFit(const RespCall& call, ErrorCode code) {
  const bool is_opened = call.index != nullptr;
  if (code == ErrorCode::kSequence && is_opened && call.request.edit.may_insert)
    return "CONSTRAINT a column's DEFAULT is NEXTVAL(...), which is not run: insert the row by SQL";
  if (call.is_string) return {};
  if (code == ErrorCode::kIdxnum && call.key.index.empty())
    return "NOTABLE the table has no primary key: add one, or name a unique index: "
           "schema.table@index:key";
  if (code != ErrorCode::kFld) return {};
  // Every column of the index was there when it was opened. A client that names no column, or reads
  // one that may be absent, has made no mistake. (HDEL may have named a column of the key.)
  const bool may_lack = TraitsOf(call.verb).may_lack_fields() && !call.request.is_write();
  const bool names_columns = NamesFields(call.verb) && !may_lack;
  if (is_opened && !names_columns) return kColumnsChanged;
  if (call.scan != nullptr)
    return "NOTSERVED SCAN by an index over an expression: use another unique index, or SQL";
  return {};
}

/// What a client is told of a number of the engine or the server.
std::string TextOfNumber(int cause) {
  const int code = NumberInSql(cause);
  const std::string_view meaning = model::MeaningOf(code);
  const std::string number = std::to_string(code);
  const bool is_read_only = model::IsOfReadOnly(code);
  if (model::IsOfServer(code) || is_read_only) {
    return (is_read_only ? "READONLY " : "ERR ") +
           (meaning.empty() ? "the server failed: perror " + number + " says why"
                            : std::string(meaning) + " (" + number + ")");
  }
  const std::string prefix = model::IsTooLargeForTransaction(code) ? "TOOLARGE " : "CONSTRAINT ";
  return prefix + (meaning.empty() ? "the server refuses it with error " + number
                                   : std::string(meaning) + " (" + number + ")");
}

/// Whether the server, or its node of a cluster, takes no requests at all now.
bool TakesNothing(const model::Error& error) {
  return error.code == ErrorCode::kOffline || error.code == ErrorCode::kNotReady;
}

/// Whether the server takes no writes now, or not to one table.
bool TakesNoWrites(const model::Error& error) {
  const bool is_locked = error.code == ErrorCode::kLockTables && !IsTableReadOnly(error);
  return is_locked || error.code == ErrorCode::kGalera;
}

/// The error of an EXEC whose unit has failed at this call; null: as a whole. Where the server
/// takes no writes, a command that reads is not to blame: it has failed because it locks its row
/// for the others. A command that writes may be, because its table may be what is locked.
std::string TextOfFailedExec(const RespWork& work, const exec::Unit* unit, const RespCall* call,
                             const model::Error& error, const std::string& why) {
  const bool may_be_state = unit != nullptr && unit->writes && work.wrong.empty();
  const bool is_state = may_be_state && (TakesNothing(error) || TakesNoWrites(error));
  const bool is_blamed =
      call != nullptr && (!is_state || (TakesNoWrites(error) && call->request.is_write()));
  const std::string text = (is_blamed ? Blame(call->number) : std::string()) + why;
  const bool is_untried = unit != nullptr && !unit->is_tried;
  return is_untried || (is_state && unit->ended_at == 1) ? RespNothingDone(text)
                                                         : "EXECABORT undone: " + text;
}

}  // namespace

std::string Blame(size_t number) {
  return number == 0 ? "WATCH: " : "command " + std::to_string(number) + ": ";
}

std::string RespWrongCount(std::string_view command, std::string_view subcommand) {
  std::string name(command);
  if (!subcommand.empty()) name += "|" + Lower(subcommand);
  return "ERR wrong number of arguments for '" + name + "' command";
}

std::string RespUnknownCommand(RespArguments arguments) {
  constexpr size_t kShownMax = 128;
  // Redis shows the argument only up to its first zero byte.
  const auto front = [](std::string_view argument, size_t size) {
    return argument.substr(0, std::min(size, argument.find('\0')));
  };
  std::string text = "ERR unknown command '" + std::string(front(arguments[0], kShownMax)) +
                     "', with args beginning with: ";
  std::string shown;
  for (const std::string_view argument : arguments.subspan(1)) {
    if (shown.size() >= kShownMax) break;
    const size_t left = kShownMax - shown.size();
    shown.append("'").append(front(argument, left)).append("' ");
  }
  return text + shown;
}

std::string RespTooManyKeys() {
  return "TOOLARGE at most " + std::to_string(model::kRespUnitKeysMax) +
         " keys are served together";
}

std::string RespNothingDone(std::string_view why) {
  return "EXECABORT nothing was done: " + std::string(why);
}

std::string RespGrant(std::string_view privileges, std::string_view db, std::string_view table,
                      const model::Account& account) {
  return "GRANT " + std::string(privileges) + " ON " + Quoted(db, '`') + "." + Quoted(table, '`') +
         " TO " + Quoted(account.user(), '\'') + "@" + Quoted(account.host(), '\'');
}

std::string RespDeniedText(const RespCall& call, const model::Account& account) {
  const std::string_view db = IsOfStore(call) ? keyspace::kRowsocketSchema : call.key.db;
  const std::string_view table = IsOfStore(call) ? keyspace::kStoreTable : call.key.table;
  return "NOPERM a privilege is missing: " + RespGrant(PrivilegesOf(call), db, table, account);
}

std::string RespNoField(const RespCall& call) {
  if (call.keyspace == nullptr || call.keyspace->fields.empty())
    return RespErrorText({ErrorCode::kFld}, RespWork());
  return NamesFields(call.verb)
             ? "NOFIELD the table has no column of this name beside its key, or `fields` of "
               "rowsocket.keyspaces leaves it out"
             : "NOFIELD `fields` of rowsocket.keyspaces has a column that the table does not have";
}

std::string RespNoTable(const RespCall& call, bool may_name_tables) {
  const std::string table = Quoted(call.key.db, '`') + "." + Quoted(call.key.table, '`');
  return "NOTABLE rowsocket.keyspaces has for this prefix a table that is not there" +
         (may_name_tables ? ": " + table : std::string());
}

std::string RespErrorText(const model::Error& error, const RespWork& work) {
  if (!work.wrong.empty()) return std::string(work.wrong);
  if (error.code == ErrorCode::kOpenTable && !IsNoTable(error)) {
    return "ERR the server cannot open the table (" + std::to_string(error.number) + ")";
  }
  if (error.code == ErrorCode::kEngine) return TextOfNumber(error.number);
  if (IsServerReadOnly(error)) return std::string(kNoWritesNow);
  if (IsTableReadOnly(error)) return "CONSTRAINT the table is read only (1036)";
  const std::string_view text = model::TextOf(kCauses, error.code);
  return text.empty() ? "CONSTRAINT " + std::string(model::Name(error.code)) : std::string(text);
}

std::string RespFailureText(const model::Error& error, const RespWork& work, const RespCall* call,
                            const model::Account* account) {
  const bool is_denied = error.code == ErrorCode::kDenied && work.wrong.empty();
  if (is_denied && call != nullptr && account != nullptr) {
    return RespDeniedText(*call, *account);
  }
  const bool is_watch =
      call != nullptr && (call->verb == RespVerb::kWatch || call->verb == RespVerb::kCheckWatch);
  if (is_watch && error.code == ErrorCode::kFld) return std::string(kColumnsChanged);
  if (call != nullptr && work.wrong.empty()) {
    const std::string_view why = WhyTableDoesNotFit(*call, error.code);
    if (!why.empty()) return std::string(why);
  }
  const bool is_of_store = call != nullptr && IsOfStore(*call);
  if (is_of_store && IsNoTable(error) && work.wrong.empty()) return std::string(kRespNoStore);
  if (call != nullptr && error == model::Error::Engine(kDataTooLong) && work.wrong.empty()) {
    const std::string_view why = WhyTooLong(*call);
    if (!why.empty()) return std::string(why);
  }
  // A command that only reads is told to try again: READONLY would send its client to another
  // server.
  const bool only_reads = std::none_of(work.calls.begin(), work.calls.end(),
                                       [](const RespCall& one) { return one.request.is_write(); });
  if (only_reads && error == model::Error{ErrorCode::kLockTables} && work.wrong.empty())
    return "TRYAGAIN not done: the table was locked for longer than resp_wrlock_timeout";
  const bool has_keyspace = call != nullptr && call->keyspace != nullptr && work.wrong.empty();
  if (has_keyspace && error.code == ErrorCode::kFld) return RespNoField(*call);
  if (has_keyspace && IsNoTable(error))
    return RespNoTable(*call, /*may_name_tables=*/account == nullptr);
  return RespErrorText(error, work);
}

// EXEC's nil says that the transaction was not applied. An error names the command that is to
// blame, and is never part of an array, because clients would believe that the commands with other
// replies have taken effect.
void AppendRespFailure(const RespWork& work, const exec::Unit* unit, const model::Error& error,
                       const model::Account* account, base::Buffer& out) {
  const RespCall* blamed = nullptr;
  for (const RespCall& call : work.calls) {
    const bool is_it = unit != nullptr && unit->ended_at != 0 && call.known_reply.empty() &&
                       call.unit_request + 1 == unit->ended_at;
    if (is_it) blamed = &call;
  }
  if (error.ok()) {
    if (blamed != nullptr && !blamed->refusal.empty())
      return resp::AppendError("GUARD " + std::string(blamed->refusal), &out);
    if (blamed != nullptr && blamed->verb == RespVerb::kMSetNx) return resp::AppendInteger(0, &out);
    return resp::AppendNilArray(work.version, &out);
  }
  const std::string text = RespFailureText(error, work, blamed, account);
  if (!work.is_exec) return resp::AppendError(text, &out);
  resp::AppendError(TextOfFailedExec(work, unit, blamed, error, text), &out);
}

}  // namespace rowsocket::frontend
