#include "frontend/memcached/replies.h"

#include "model/error_number.h"
#include "protocol/memcached/encoder.h"
#include "protocol/memcached/login.h"

namespace rowsocket::frontend {

using memcached::BinaryStatus;
using memcached::Command;
using memcached::Verb;
using model::ErrorCode;

namespace {

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
                      error.code == ErrorCode::kOffline;
  return passes ? BinaryStatus::kTemporaryFailure : BinaryStatus::kInternalError;
}

std::string Explain(const model::Error& error) {
  switch (error.code) {
    case ErrorCode::kDenied:
    case ErrorCode::kUnauth:
      return "access denied";
    case ErrorCode::kAccountRate:
      return "the account has made more requests than "
             "daemon_memcached_account_requests_per_second allows";
    case ErrorCode::kLockTables:
      return "the table is locked (daemon_memcached_wrlock_timeout), or the server is read only "
             "(read_only)";
    case ErrorCode::kOffline:
      return "the server is offline (offline_mode)";
    case ErrorCode::kOpenTable:
    case ErrorCode::kIdxnum:
    case ErrorCode::kFld:
      return "the container's table has changed or is gone";
    case ErrorCode::kKilled:
      return "the request was killed";
    case ErrorCode::kResultsize:
      return "the reply is larger than daemon_memcached_reply_max_bytes";
    case ErrorCode::kGalera:
      return "the server is a node of a Galera cluster, to which the write would not be passed "
             "(wsrep_on, the table's engine)";
    case ErrorCode::kNotReady:
      return "the node is not ready: wsrep_ready, wsrep_reject_queries (1047)";
    case ErrorCode::kUnserved:
      return "the library does not do this in this server yet";
    case ErrorCode::kTrigger:
      return "the table has triggers";
    case ErrorCode::kVersioned:
      return "the table is versioned";
    case ErrorCode::kLockWait:
      return "lock wait timeout, innodb_lock_wait_timeout has passed (146)";
    case ErrorCode::kDeadlock:
      return "deadlock (149)";
    case ErrorCode::kInternal:
      return "error 168";
    case ErrorCode::kEngine:
      break;
    default:
      return std::string(model::Name(error.code));
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
  switch (command.verb) {
    case Verb::kVersion:
      return memcached::AppendVersion(command, shared.settings.version, &out);
    case Verb::kStats:
      return AppendStats(shared, work, account, out);
    default:
      return memcached::AppendOk(command, &out);
  }
}

}  // namespace rowsocket::frontend
