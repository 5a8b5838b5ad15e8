#include "frontend/memcached/replies.h"

#include "base/require.h"
#include "model/cause_texts.h"
#include "model/error_number.h"
#include "protocol/memcached/encoder.h"
#include "protocol/memcached/login.h"

namespace rowsocket::frontend {

using memcached::BinaryStatus;
using memcached::Command;
using memcached::Verb;
using model::ErrorCode;

namespace {

constexpr std::string_view kNoAccess = "access denied";
constexpr std::string_view kTableHasChanged = "the container's table has changed or is gone";
constexpr model::CauseText kCauses[] = {
    {ErrorCode::kDenied, kNoAccess},
    {ErrorCode::kUnauth, kNoAccess},
    {ErrorCode::kAccountRate,
     "the account has made more requests than "
     "daemon_memcached_account_requests_per_second allows"},
    {ErrorCode::kLockTables,
     "the table is locked (daemon_memcached_wrlock_timeout), or the server is read only "
     "(read_only)"},
    {ErrorCode::kOffline, "the server is offline (offline_mode)"},
    {ErrorCode::kOpenTable, kTableHasChanged},
    {ErrorCode::kIdxnum, kTableHasChanged},
    {ErrorCode::kFld, kTableHasChanged},
    {ErrorCode::kKilled, "the request was killed"},
    {ErrorCode::kResultsize, "the reply is larger than daemon_memcached_reply_max_bytes"},
    {ErrorCode::kGalera,
     "the server is a node of a Galera cluster, to which the write would not be passed "
     "(wsrep_on, the table's engine)"},
    {ErrorCode::kNotReady, "the node is not ready: wsrep_ready, wsrep_reject_queries (1047)"},
    {ErrorCode::kUnserved, "the library does not do this in this server yet"},
    {ErrorCode::kTrigger, "the table has triggers"},
    {ErrorCode::kVersioned, "the table is versioned"},
    {ErrorCode::kSequence, "a column's DEFAULT is NEXTVAL(...), which is not run"},
    {ErrorCode::kLockWait, "lock wait timeout, innodb_lock_wait_timeout has passed (146)"},
    {ErrorCode::kDeadlock, "deadlock (149)"},
    {ErrorCode::kInternal, "error 168"},
};
/// Causes without a text of their own: kEngine is answered by its number, the others by their
/// names.
constexpr ErrorCode kCausesWithoutWords[] = {
    ErrorCode::kEngine,      ErrorCode::kCmd,         ErrorCode::kLineLength,
    ErrorCode::kAuthtype,    ErrorCode::kNeedtls,     ErrorCode::kView,
    ErrorCode::kSystemTable, ErrorCode::kTableEngine, ErrorCode::kStmtnum,
    ErrorCode::kNumber,      ErrorCode::kInvalueslen, ErrorCode::kFiltertype,
    ErrorCode::kFilterfld,   ErrorCode::kOp,          ErrorCode::kKlen,
    ErrorCode::kValuesCount, ErrorCode::kReadonly,    ErrorCode::kModop,
    ErrorCode::kToken,       ErrorCode::kClientName,  ErrorCode::kKpnum,
    ErrorCode::kFilterblob,  ErrorCode::kNotimpl,     ErrorCode::kIndexop,
    ErrorCode::kCharset,     ErrorCode::kTokenTable,  ErrorCode::kTokenDiffers,
    ErrorCode::kUnavailable, ErrorCode::kGroup,       ErrorCode::kRefused};
static_assert(model::HaveEachCauseOnce(kCauses, kCausesWithoutWords));

void AppendContainerName(const MemcachedWork& work, base::Buffer& out) {
  memcached::Item item;
  item.value = work.table;
  item.size = work.table.size();
  memcached::AppendHit(work.command, work.target().key, item, &out);
  memcached::AppendGetEnd(work.command, &out);
}

}  // namespace

BinaryStatus StatusOf(const model::Error& error) {
  const bool is_denied = error.code == ErrorCode::kDenied || error.code == ErrorCode::kUnauth;
  if (is_denied) return BinaryStatus::kAuthError;
  const bool passes = error.code == ErrorCode::kLockTables || error.code == ErrorCode::kLockWait ||
                      error.code == ErrorCode::kDeadlock || error.code == ErrorCode::kAccountRate ||
                      error.code == ErrorCode::kOffline || error.code == ErrorCode::kNotReady;
  return passes ? BinaryStatus::kTemporaryFailure : BinaryStatus::kInternalError;
}

std::string Explain(const model::Error& error) {
  if (error.code != ErrorCode::kEngine) {
    const std::string_view text = model::TextOf(kCauses, error.code);
    return std::string(text.empty() ? model::Name(error.code) : text);
  }
  const std::string_view meaning = model::MeaningOf(error.number);
  const std::string number = std::to_string(error.number);
  return meaning.empty() ? "error " + number : std::string(meaning) + " (" + number + ")";
}

void AppendEngineError(const Command& command, const model::Error& error, base::Buffer& out) {
  memcached::AppendServerError(command, StatusOf(error), Explain(error), &out);
}

void AppendReply(MemcachedShared& shared, const MemcachedWork& work, const model::Account* account,
                 base::Buffer& out) {
  const Command& command = work.command;
  if (command.error != memcached::Error::kNone) {
    return memcached::AppendError(command, command.error, &out);
  }
  if (!work.refusal.empty()) {
    return memcached::AppendServerError(command, work.refusal_status, work.refusal, &out);
  }
  if (work.lists_mechanisms) return memcached::AppendMechanisms(command, &out);
  if (work.switches) return AppendContainerName(work, out);
  // A command that asks the engine is answered where it is executed.
  ROWSOCKET_REQUIRE(memcached::KindOf(command.verb) == memcached::VerbKind::kNoItem);
  if (command.verb == Verb::kVersion)
    return memcached::AppendVersion(command, shared.settings.version, &out);
  if (command.verb == Verb::kStats) return AppendStats(shared, work, account, out);
  memcached::AppendOk(command, &out);
}

}  // namespace rowsocket::frontend
