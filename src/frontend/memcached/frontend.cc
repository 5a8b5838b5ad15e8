#include "frontend/memcached/frontend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/secret_text.h"
#include "exec/write_set.h"
#include "frontend/memcached/edits.h"
#include "frontend/memcached/exptime.h"
#include "frontend/memcached/flush.h"
#include "frontend/memcached/reads.h"
#include "frontend/memcached/replies.h"
#include "keyspace/codec.h"
#include "keyspace/delete_rows.h"
#include "protocol/memcached/binary.h"
#include "protocol/memcached/binary_reply.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using memcached::BinaryStatus;
using memcached::Command;
using memcached::Verb;
using memcached::VerbKind;
using Wrong = MemcachedTarget::Wrong;

namespace {

/// Whether the command is executed. A binary set that is too large is: it deletes a stored item
/// that expires, because clients must not go on reading the old value, as in memcached.
bool IsExecuted(const Command& command) {
  return command.error == memcached::Error::kNone ||
         (command.error == memcached::Error::kTooLarge && !command.keys.empty() &&
          command.dialect == memcached::Dialect::kBinary);
}

/// Why the policies refuse the command; empty if they allow it.
const std::string& RefusalByPolicy(const Command& command, const keyspace::Options& options) {
  if (IsGet(command.verb) || command.verb == Verb::kMetaDebug) {
    // A get that touches or creates a row needs the permission for gets and for sets.
    const bool may_get = options.get_refusal.empty();
    return may_get && IsEdit(command) ? options.set_refusal : options.get_refusal;
  }
  return command.verb == Verb::kDelete ? options.delete_refusal : options.set_refusal;
}

/// Whether the command may make a row if there is none.
bool MayCreate(const Command& command) {
  const bool makes_rows =
      KindOf(command.verb) == VerbKind::kStore && command.verb != Verb::kReplace;
  return makes_rows ? !command.compares_cas : command.creates;
}

}  // namespace

exec::Frontend::Step MemcachedFrontend::Parse(std::string_view input, bool after_requests,
                                              base::Arena& arena, Item* item) {
  const Step step = ParseOne(input, after_requests, arena, item);
  refreshed_bytes_ -= std::min(refreshed_bytes_, step.consumed);
  return step;
}

exec::Frontend::Step MemcachedFrontend::ParseOne(std::string_view input, bool after_requests,
                                                 base::Arena& arena, Item* item) {
  const bool is_binary = parser_.is_binary() || login_dialect_ == memcached::Dialect::kBinary;
  const bool is_login =
      shared_.settings.accounts &&
      (!is_logged_in_ || (is_binary && parser_.may_begin() && memcached::IsSasl(input)));
  if (is_login) {
    if (after_requests) return {Parsed::kLater, 0};
    return ParseLogin(input, arena, item);
  }
  if (!after_requests) {
    TakeSnapshot();
    // Requests that were parsed in an earlier turn and not answered are parsed again now. They get
    // their former numbers, so that a mark that one of them has won in a turn that was lost still
    // is its own.
    numbered_ = numbered_finished_;
  }
  MemcachedWork& work = arena.Allocate<MemcachedWork>(1)[0];
  const memcached::Step step = parser_.Next(input, shared_.settings.limits, arena, &work.command);
  if (step.result == memcached::ParseResult::kNeedMore) return {Parsed::kNeedMore, step.consumed};
  item->kind = Item::Kind::kReply;
  item->verb = static_cast<uint16_t>(work.command.verb);
  item->detail = &work;
  if (step.result == memcached::ParseResult::kSkipped) {
    work.is_nothing = true;
    return {Parsed::kItem, step.consumed};
  }
  // The parser can remember only of one command that bytes yet to come belong to it. If an earlier
  // command were parsed again after this one, the parser would lose that.
  if (after_requests && parser_.leaves_swallowing()) return {Parsed::kLater, 0};
  item->closes = work.command.closes;
  if (work.command.verb == Verb::kClientName && IsExecuted(work.command)) {
    // The requests before the name keep the name under which they were sent.
    if (after_requests) return {Parsed::kLater, 0};
    name_ = work.command.client_name;
  }
  const bool is_flush = work.command.verb == Verb::kFlushAll && shared_.settings.may_flush;
  if ((is_flush || !work.command.keys.empty()) && IsExecuted(work.command)) {
    is_flush ? ResolveFlush(arena, &work) : ResolveKeys(arena, &work);
    // A container with an unknown name may have been made a moment ago. The tables are read once
    // for all requests that have been received by then.
    if (AsksForContainer(work) && refreshed_bytes_ == 0) {
      if (after_requests) return {Parsed::kLater, 0};
      refreshed_bytes_ = input.size();
      item->kind = Item::Kind::kRefresh;
      item->request.account = account();
      return {Parsed::kItem, 0};
    }
    work.switches = IsGet(work.command.verb) && work.targets.size() == 1 &&
                    work.target().is_container_only && work.target().wrong == Wrong::kNothing;
    if (work.switches) {
      if (after_requests) return {Parsed::kLater, 0};
      if (!Switch(arena, &work, item)) return {Parsed::kItem, 0};
    }
  }
  Prepare(arena, &work, item);
  return {Parsed::kItem, step.consumed};
}

// Changes the connection's container, if the account has some privilege on its table. False: the
// engine has to be asked first, by a look-up of the container's index for the account.
bool MemcachedFrontend::Switch(base::Arena& arena, MemcachedWork* work, Item* item) {
  const keyspace::Container& container = *work->target().container;
  if (account() != nullptr &&
      !(switch_answer_.has_value() && switch_asked_ == container.get_index)) {
    switch_answer_.reset();
    switch_asked_ = container.get_index;
    item->kind = Item::Kind::kSilentOpen;
    item->names = &container.get_index->names();
    item->request.account = account();
    return false;
  }
  const model::Error answer = std::exchange(switch_answer_, {}).value_or(model::Error());
  if (!answer.ok()) {
    Refuse(*item, answer, arena);
    return true;
  }
  switched_to_ = container.name();
  default_container_ = &container;
  work->table = arena.Copy(container.definition.db + "/" + container.definition.table);
  return true;
}

void MemcachedFrontend::Opened(Item&, const Outcome& outcome, std::shared_ptr<engine::Index>) {
  switch_answer_ = outcome.error;
}

exec::Frontend::Step MemcachedFrontend::ParseLogin(std::string_view input, base::Arena& arena,
                                                   Item* item) {
  using Result = memcached::LoginStep::Result;
  MemcachedWork& work = arena.Allocate<MemcachedWork>(1)[0];
  const memcached::LoginStep step = memcached::NextLogin(input, &work.command);
  if (step.result == Result::kNeedMore) return {Parsed::kNeedMore, 0};
  item->detail = &work;
  item->closes = work.command.closes;
  work.lists_mechanisms = step.result == Result::kMechanisms;
  // What is refused unchecked may hold a password.
  if (work.command.error != memcached::Error::kNone) base::Wipe(input.substr(0, step.consumed));
  item->is_auth_reply = work.command.error == memcached::Error::kAuthFailure && !item->closes;
  if (item->is_auth_reply) item->error.code = model::ErrorCode::kUnauth;
  if (step.result == Result::kCredentials) {
    item->kind = Item::Kind::kAuthenticate;
    item->credentials = &(arena.Allocate<exec::Credentials>(1)[0] = {step.user, step.password});
    login_dialect_ = work.command.dialect;
    login_opcode_ = work.command.opcode;
    login_opaque_ = work.command.opaque;
  }
  return {Parsed::kItem, step.consumed};
}

void MemcachedFrontend::LoginEnded(const model::Error& answer, base::Buffer& out) {
  Command command;
  command.dialect = login_dialect_;
  command.opcode = login_opcode_;
  command.opaque = login_opaque_;
  is_logged_in_ = answer.ok();
  if (answer.ok()) return memcached::AppendLoggedIn(command, &out);
  shared_.counters.Add(MemcachedStat::kErrors);
  const bool needs_tls = answer.code == model::ErrorCode::kNeedtls;
  memcached::AppendError(
      command, needs_tls ? memcached::Error::kTlsRequired : memcached::Error::kAuthFailure, &out);
}

// A binary client would take a message that it has not asked for as the answer to its next request,
// so that it gets none.
void MemcachedFrontend::AccountEnded(base::Buffer& out) {
  if (parser_.is_binary() || login_dialect_ == memcached::Dialect::kBinary) return;
  memcached::AppendError(Command(), memcached::Error::kUnauthenticated, &out);
}

void MemcachedFrontend::TakeSnapshot() {
  if (snapshot_ != nullptr && snapshot_->version == shared_.keyspaces->catalog.version()) return;
  former_snapshot_ = std::exchange(snapshot_, shared_.keyspaces->catalog.current());
  default_container_ = snapshot_->first;
  if (switched_to_.empty()) return;
  // If the connection's container is gone, the connection gets no other one unless it asks for it.
  default_container_ = snapshot_->Find(switched_to_);
}

void MemcachedFrontend::ResolveKeys(base::Arena& arena, MemcachedWork* work) {
  const auto& keys = work->command.keys;
  work->targets = arena.Allocate<MemcachedTarget>(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    work->targets[i].name = switched_to_;
    Resolve(keys[i], *snapshot_, default_container_, arena, &work->targets[i]);
  }
}

// The target of flush_all is the connection's container.
void MemcachedFrontend::ResolveFlush(base::Arena& arena, MemcachedWork* work) const {
  work->targets = arena.Allocate<MemcachedTarget>(1);
  MemcachedTarget& target = work->targets[0];
  target.container = default_container_;
  target.name = switched_to_;
  if (default_container_ == nullptr || !default_container_->usable()) {
    target.wrong = default_container_ == nullptr ? Wrong::kNoContainer : Wrong::kUnusable;
  }
}

// Clients may name a disabled container all the time, so that it has the mapping tables read less
// often than one that does not exist.
bool MemcachedFrontend::AsksForContainer(const MemcachedWork& work) const {
  bool has_disabled = false;
  for (const MemcachedTarget& target : work.targets) {
    if (target.wrong == Wrong::kNoContainer) return true;
    has_disabled = has_disabled || target.wrong == Wrong::kUnusable;
  }
  return has_disabled && shared_.keyspaces->catalog.MayBeOutOfDate();
}

void MemcachedFrontend::Prepare(base::Arena& arena, MemcachedWork* work, Item* item) {
  const Command& command = work->command;
  item->is_large = command.verb == Verb::kStats;
  if (!IsExecuted(command) || work->switches) return;
  // Stats, and a request that is refused here, count against the account's limits like executed
  // requests.
  item->is_charged = item->is_large || !command.keys.empty();
  item->request.account = account();
  if (command.verb == Verb::kFlushAll) return PrepareFlush(arena, work, item);
  if (command.keys.empty()) return;
  item->weight = static_cast<uint32_t>(command.keys.size());
  if (RefuseUnexecuted(arena, work) || !TakeValue(arena, work)) return;
  const bool is_edit = IsEdit(command);
  if (is_edit || command.dialect == memcached::Dialect::kMeta) {
    work->serial = first_serial_ + ++numbered_;
  }
  item->kind = Item::Kind::kRequest;
  item->index = is_edit ? work->target().container->full_index.get()
                        : work->target().container->get_index.get();
  // An item that is too large must not share a row: it would meet the row's lock, and wait for it,
  // before Execute is called. Nor must a key that no row can have: `007` is answered without the
  // engine, which would take it for the name of row 7.
  item->is_composite = work->targets.size() > 1 || command.error == memcached::Error::kTooLarge ||
                       work->target().wrong == Wrong::kNoSuchKey;
  if (is_edit) item->request = EditRequest(*work);
  item->request.account = account();
  if (is_edit && account() != nullptr) {
    const uint32_t columns = work->target().container->full_layout.columns;
    SetEditRights(work->command, *work->target().container, shared_.keyspaces->NowMs(),
                  arena.Allocate<uint32_t>(columns), &item->request.edit);
  }
}

bool MemcachedFrontend::RefuseUnexecuted(base::Arena& arena, MemcachedWork* work) {
  const Command& command = work->command;
  std::string why;
  for (const MemcachedTarget& target : work->targets) {
    const bool matters = target.wrong != Wrong::kNoSuchKey || MayCreate(command);
    if (target.wrong != Wrong::kNothing && matters) why = WhyNot(target);
    if (why.empty() && target.is_container_only)
      why = "a key is missing after the container's name";
    if (!why.empty()) break;
  }
  if (why.empty()) why = RefusalByPolicy(command, snapshot_->config.options);
  if (why.empty()) return false;
  work->refusal = arena.Copy(why);
  work->refusal_status = BinaryStatus::kInvalidArguments;
  return true;
}

// Why a container is disabled may name tables that the account may not see.
std::string MemcachedFrontend::WhyNot(const MemcachedTarget& target) const {
  if (account() == nullptr || target.wrong != Wrong::kUnusable) return Explain(target, *snapshot_);
  return "container " + target.container->name() + " is disabled; the server's log says why";
}

bool MemcachedFrontend::TakeValue(base::Arena& arena, MemcachedWork* work) {
  if (KindOf(work->command.verb) != VerbKind::kStore ||
      work->command.error != memcached::Error::kNone) {
    return true;
  }
  const MemcachedTarget& target = work->target();
  if (target.wrong != Wrong::kNothing) return true;
  const std::span<model::Value> columns = arena.Allocate<model::Value>(target.container->values);
  work->value = columns;
  if (columns.size() == 1) {
    columns[0] = model::Value(work->command.value);
    return true;
  }
  if (keyspace::SplitColumns(work->command.value, target.container->separator, arena, columns)) {
    return true;
  }
  const std::string why = "the value is not " + std::to_string(columns.size()) +
                          " columns joined by " + target.container->separator;
  work->refusal = arena.Copy(why);
  work->refusal_status = BinaryStatus::kInvalidArguments;
  return false;
}

void MemcachedFrontend::PrepareFlush(base::Arena& arena, MemcachedWork* work, Item* item) {
  Command& command = work->command;
  if (!shared_.settings.may_flush) {
    command.error = memcached::Error::kFlushNotAllowed;
    return;
  }
  item->is_charged = true;
  std::string why = WhyNot(work->target());
  if (why.empty()) why = snapshot_->config.options.flush_refusal;
  const int64_t now_ms = shared_.keyspaces->NowMs();
  const bool is_delayed = command.exptime > 0 && ExpiryOf(command.exptime, now_ms) > now_ms;
  const std::string_view no_housekeeping = shared_.keyspaces->WhyNoHousekeeping().why;
  if (why.empty() && is_delayed && !no_housekeeping.empty()) {
    why = "no delayed flush is carried out: " + std::string(no_housekeeping);
  }
  if (!why.empty()) {
    work->refusal = arena.Copy(why);
    work->refusal_status = BinaryStatus::kInvalidArguments;
    return;
  }
  item->kind = Item::Kind::kRequest;
  item->index = default_container_->full_index.get();
  item->is_composite = true;
  item->request = keyspace::DeleteRowsRequest();
  item->request.account = account();
}

Outcome MemcachedFrontend::Execute(const Item& item, engine::Session& session,
                                   base::Buffer& out) const {
  MemcachedWork& work = MemcachedWorkOf(item);
  const size_t begin = out.size();
  work.tally = {};
  work.failure = {};
  const bool is_flush = work.command.verb == Verb::kFlushAll;
  const model::Account* const account = item.request.account;
  Outcome outcome = is_flush ? ExecuteFlush(shared_, work, account, session, out)
                    : item.request.is_write()
                        ? ExecuteEdit(shared_, work, item.request, session, out)
                        : ExecuteGet(shared_, work, account, session, out);
  if (outcome.ok()) return outcome;
  out.Truncate(begin);
  // An item that is too large cannot be parsed again, because its data is not kept. So it does not
  // wait for a lock.
  const bool is_busy = outcome.result == Outcome::Result::kBusy;
  if (is_busy && work.command.error == memcached::Error::kTooLarge) {
    outcome.result = Outcome::Result::kFailed;
    outcome.error = {model::ErrorCode::kLockWait};
  }
  if (outcome.is_answer() && !work.failure.empty())
    memcached::AppendServerError(work.command, StatusOf(outcome.error), work.failure, &out);
  else if (outcome.is_answer())
    AppendEngineError(work.command, outcome.error, out);
  return outcome;
}

bool MemcachedFrontend::MayConcern(const Item& item, const exec::WriteSet& writes) const {
  const std::span<const MemcachedTarget> targets = MemcachedWorkOf(item).targets;
  return std::any_of(targets.begin(), targets.end(), [&](const MemcachedTarget& target) {
    return target.wrong == Wrong::kNothing &&
           writes.MayConcern({*target.container->get_index, target.parts});
  });
}

void MemcachedFrontend::AddWrites(const Item& item, exec::WriteSet& writes) const {
  for (const MemcachedTarget& target : MemcachedWorkOf(item).targets) {
    if (target.wrong == Wrong::kNothing) writes.AddAnyRow(*target.container->full_index);
  }
}

void MemcachedFrontend::Reply(const Item& item, base::Buffer& out) const {
  if (!MemcachedWorkOf(item).is_nothing)
    AppendReply(shared_, MemcachedWorkOf(item), account(), out);
}

void MemcachedFrontend::Refuse(Item& item, const model::Error& error, base::Arena& arena) const {
  exec::Frontend::Refuse(item, error, arena);
  // If the account's budget is used up, the mapping tables were not read: the next request within
  // the budget has them read.
  if (error.code == model::ErrorCode::kAccountRate) refreshed_bytes_ = 0;
  MemcachedWork& work = MemcachedWorkOf(item);
  work.refusal = arena.Copy(Explain(error));
  work.refusal_status = StatusOf(error);
}

void MemcachedFrontend::ReplyError(const Item& item, model::Error error, base::Buffer& out) const {
  AppendEngineError(MemcachedWorkOf(item).command, error, out);
}

void MemcachedFrontend::RefusePlain(std::string_view begin, base::Buffer& out) const {
  if (!begin.starts_with(memcached::kRequestMagic))
    return out.Append("CLIENT_ERROR TLS required\r\n");
  Command command;
  if (begin.size() >= memcached::kHeaderBytes) {
    const memcached::BinaryHeader header = memcached::ParseHeader(begin);
    command.opcode = header.opcode;
    command.opaque = header.opaque;
  }
  memcached::AppendBinaryStatus(command, BinaryStatus::kAuthError, &out);
}

}  // namespace rowsocket::frontend
