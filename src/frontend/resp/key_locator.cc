#include "frontend/resp/key_locator.h"

#include <algorithm>
#include <string>

#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/key.h"
#include "frontend/resp/move.h"
#include "frontend/resp/store.h"

namespace rowsocket::frontend {

using keyspace::Container;
using keyspace::Keyspace;
using keyspace::KeyspaceDefinition;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// Sets the text of an error. Returns false, so that a caller can fail with one statement.
bool Fail(std::string_view why, std::string* error) {
  *error = why;
  return false;
}

/// Whether a script of this kind answers what the key held, or how long it lives.
bool TellsItem(RespScriptKind kind) {
  using Kind = RespScriptKind;
  switch (kind) {
    case Kind::kAskLock:
    case Kind::kCountOne:
    case Kind::kAdd:
    case Kind::kPeek:
      return true;
    case Kind::kNone:
    case Kind::kSetIfAbsent:
    case Kind::kLock:
    case Kind::kSwap:
    case Kind::kIncrement:
    case Kind::kSum:
    case Kind::kCommand:
    case Kind::kField:
      break;
  }
  return false;
}

/// Whether a command that changes its key answers what the key held, or how long it lives.
bool TellsItem(const RespCall& call) {
  const auto& arguments = call.arguments;
  switch (call.verb) {
    case Verb::kGetDel:
    case Verb::kGetEx:
    case Verb::kGetSet:
      return true;
    case Verb::kSet:
      return std::any_of(arguments.begin() + 3, arguments.end(),
                         [](std::string_view word) { return IsWord(word, "get"); });
    case Verb::kEval:
      return TellsItem(TraitsOf(call.script).kind);
    default:
      return false;
  }
}

}  // namespace

std::string RefusalByPolicy(const RespCall& call, bool writes, const keyspace::Options& options) {
  const auto refused = [](const std::string& why) { return why.empty() ? why : "NOPERM " + why; };
  const bool gets = !writes || TellsItem(call);
  if (gets && !options.get_refusal.empty()) return refused(options.get_refusal);
  if (!writes) return {};
  return refused(EffectOf(call) == RespEffect::kDelete ? options.delete_refusal
                                                       : options.set_refusal);
}

// Clients leave a server that answers OFFLINE, whereas after TRYAGAIN they ask it again.
bool RespKeyLocator::KnowsKeyspaces(std::string* error) const {
  if (snapshot_ == nullptr || snapshot_->is_read()) return true;
  const ErrorCode why = shared_.keyspaces->catalog.unread_because();
  if (why == ErrorCode::kOffline || why == ErrorCode::kNotReady)
    return Fail(RespErrorText({why}, RespWork()), error);
  return Fail(
      "TRYAGAIN not done: the tables of keyspaces could not be read since the server's start",
      error);
}

bool RespKeyLocator::Locate(bool writes, bool may_name_tables, base::Arena& arena, RespCall* call,
                            std::string* error) const {
  const std::string_view key = call->arguments[call->key_at];
  call->may_be_string = IsStringVerb(call->verb) || IsGeneric(call->verb);
  if (snapshot_ != nullptr) {
    const Keyspace* const keyspace = snapshot_->FindKeyspace(key);
    if (keyspace != nullptr)
      return LocateInKeyspace(*keyspace, writes, may_name_tables, arena, call, error);
  }
  if (ParseRespKey(key, shared_.schema, arena, &call->key)) return true;
  if (call->may_be_string) {
    PutInStore(*call, arena);
    return true;
  }
  return Fail("NOTABLE the key names no table: keys are schema.table:key" +
                  std::string(shared_.schema.empty() ? ", or table:key with resp_schema" : ""),
              error);
}

bool RespKeyLocator::LocateInKeyspace(const Keyspace& keyspace, bool writes, bool may_name_tables,
                                      base::Arena& arena, RespCall* call,
                                      std::string* error) const {
  const KeyspaceDefinition& definition = *keyspace.definition;
  const std::string_view key = call->arguments[call->key_at].substr(definition.prefix.size());
  const bool is_value = definition.kind == KeyspaceDefinition::Kind::kValue;
  if (is_value)
    writes = !TraitsOf(call->verb).reads_string();
  else if (call->verb == Verb::kPersist)
    writes = !definition.expires.empty();
  if (writes && definition.read_only) {
    return Fail("NOPERM rowsocket.keyspaces says that keys with this prefix are read only", error);
  }
  if (is_value) {
    return LocateInContainer(keyspace, key, writes, may_name_tables, arena, call, error);
  }
  if (definition.db.empty() || definition.table.empty()) {
    return Fail("NOTABLE rowsocket.keyspaces has no db_schema or no db_table for this prefix",
                error);
  }
  if (IsMoveVerb(call->verb)) return Fail(kRespMovesStrings, error);
  if (call->verb == Verb::kMGet) {
    HideRow(*call, arena);
    return true;
  }
  if (IsStringVerb(call->verb)) return Fail(kRespWrongType, error);
  call->may_be_string = false;
  call->keyspace = &definition;
  call->key = {definition.db, definition.table, definition.index, {}};
  ParseRespParts(key, arena, &call->key);
  if (!definition.expires.empty()) {
    const std::string wrong = WhyNoExpiry(keyspace, may_name_tables);
    if (!wrong.empty()) return Fail(wrong, error);
    call->expiring_rows = keyspace.container;
    call->keyspaces = shared_.keyspaces;
  }
  if (HideFields(call)) return true;
  return Fail(RespNoField(*call), error);
}

bool RespKeyLocator::LocateInContainer(const Keyspace& keyspace, std::string_view key, bool writes,
                                       bool may_name_tables, base::Arena& arena, RespCall* call,
                                       std::string* error) const {
  if (!call->may_be_string) return Fail(kRespWrongType, error);
  const Container* const container = keyspace.container;
  const auto name = [&keyspace] { return "container '" + keyspace.definition->container + "'"; };
  if (container == nullptr) {
    return Fail("NOSTORE innodb_memcache.containers has no " + name(), error);
  }
  // Why the container is disabled may name tables that the account may not see.
  if (!container->usable()) {
    return Fail("NOSTORE " + name() + " is disabled" +
                    (may_name_tables ? ": " + container->problem
                                     : std::string("; the server's log says why")),
                error);
  }
  const std::string refusal = RefusalByPolicy(*call, writes, snapshot_->config.options);
  if (!refusal.empty()) return Fail(refusal, error);
  call->is_string = true;
  call->container = container;
  call->keyspaces = shared_.keyspaces;
  call->key_cannot_exist = !keyspace::ParseRowKey(key, *container, arena, &call->row_key);
  call->key.db = container->definition.db;
  call->key.table = container->definition.table;
  call->key.index = container->definition.index;
  call->key.parts = arena.Allocate<model::Value>(call->row_key.parts.size());
  std::copy(call->row_key.parts.begin(), call->row_key.parts.end(), call->key.parts.begin());
  // A watched row is compared as a whole.
  const bool reads_all = writes || call->verb == Verb::kWatch || call->verb == Verb::kCheckWatch;
  call->index = (reads_all ? container->full_index : container->get_index).get();
  return true;
}

void HideRow(RespCall& call, base::Arena& arena) {
  PutInStore(call, arena);
  call.key_cannot_exist = true;
}

void PutInStore(RespCall& call, base::Arena& arena) {
  call.is_string = true;
  call.key = NamesManyKeys(call.verb) ? RespKey()
                                      : StoreKey(call.database, call.arguments[call.key_at], arena);
}

}  // namespace rowsocket::frontend
