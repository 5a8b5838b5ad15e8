#include "frontend/resp/frontend.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "exec/write_set.h"
#include "frontend/resp/rows.h"
#include "frontend/resp/store.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using exec::Unit;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// As of Redis, for a client that has not logged in.
constexpr size_t kArgumentsMaxBeforeLogin = 10;

/// Whether the command may stand between MULTI and EXEC.
bool MayBeQueued(Verb verb) {
  return (IsOfRow(verb) && !IsOfManyKeys(verb) && verb != Verb::kMSetNx) || verb == Verb::kPing ||
         verb == Verb::kEcho || verb == Verb::kPublish || verb == Verb::kOnce;
}

/// Whether the command changes what the connection's later commands mean.
bool ChangesConnection(Verb verb) {
  return verb == Verb::kReset || verb == Verb::kSelect || verb == Verb::kUnwatch ||
         verb == Verb::kHello || verb == Verb::kAuth || verb == Verb::kClient ||
         verb == Verb::kMulti || verb == Verb::kDiscard || verb == Verb::kQuit;
}

RespWork& WorkOf(const Item& item) { return *static_cast<RespWork*>(item.detail); }

}  // namespace

Resp::Resp(const RespSettings& settings) : settings_(settings), is_in_(!settings.accounts) {
  SetAccount(settings.account);
}

Resp::~Resp() {
  if (connection_id() != 0) settings_.clients->Leave(connection_id());
  settings_.info->AddCommands(uncounted_);
}

size_t Resp::input_bytes_max() const {
  return is_in_ ? settings_.limits.line_bytes_max + resp::kCountBytesMax
                : model::kUnauthenticatedLineBytesMax * 4 + resp::kCountBytesMax;
}

resp::RequestLimits Resp::request_limits() const {
  if (is_in_) return {2 * settings_.limits.values_max + 2, settings_.limits.line_bytes_max, true};
  return {kArgumentsMaxBeforeLogin, model::kUnauthenticatedLineBytesMax * 4, false};
}

void Resp::Rewind() {
  if (std::exchange(is_later_, false) || !has_exec_) return;
  has_exec_ = false;
  in_multi_ = true;
}

void Resp::Finished(const Item& item, const model::Error& answer) {
  if (item.is_silent()) return;
  if (++uncounted_ == kCountEvery) settings_.info->AddCommands(std::exchange(uncounted_, 0));
  const RespWork& work = WorkOf(item);
  const bool may_have_changed = answer.code == ErrorCode::kOpenTable ||
                                answer.code == ErrorCode::kIdxnum || answer.code == ErrorCode::kFld;
  if (may_have_changed && settings_.keyspaces != nullptr) settings_.keyspaces->catalog.Distrust();
  // An EXEC that is refused before it runs is a kReply by now; it is over all the same.
  if (work.is_exec) {
    has_exec_ = false;
    return EndTransaction();
  }
  const bool watches =
      item.kind == Item::Kind::kRequest && answer.ok() && work.calls[0].verb == Verb::kWatch;
  if (!watches) return;
  // More than EXEC can compare: it says so.
  watches_too_many_ =
      watches_too_many_ || watched_.size() + work.calls.size() > model::kUnitRequestsMax;
  if (watches_too_many_) return watched_.clear();
  for (const RespCall& call : work.calls) {
    watched_.push_back({call.database, std::string(call.arguments[call.at]), *call.image});
  }
}

void Resp::TakeSnapshot() {
  if (settings_.keyspaces == nullptr) return;
  const keyspace::Catalog& catalog = settings_.keyspaces->catalog;
  if (snapshot_ != nullptr && snapshot_->version == catalog.version()) return;
  former_snapshot_ = std::exchange(snapshot_, catalog.current());
}

void Resp::EndTransaction() {
  in_multi_ = multi_failed_ = false;
  multi_bytes_ = 0;
  queued_.clear();
  watched_.clear();
  watches_too_many_ = false;
}

exec::Frontend::Step Resp::Parse(std::string_view input, bool behind_requests, base::Arena& arena,
                                 Item* item) {
  is_later_ = has_exec_ && behind_requests;
  if (is_later_) return {Parsed::kLater, 0};
  if (!behind_requests) TakeSnapshot();
  const resp::RequestStep step = resp::NextRequest(input, request_limits(), arena);
  using Kind = resp::RequestStep::Outcome;
  if (step.outcome == Kind::kNeedMore) return {Parsed::kNeedMore, 0};
  RespWork& work = arena.Allocate<RespWork>(1)[0];
  work.version = version_;
  item->kind = Item::Kind::kReply;
  item->detail = &work;
  if (step.outcome == Kind::kNothing) return {Parsed::kItem, step.consumed};
  if (step.outcome == Kind::kHttp || step.outcome == Kind::kError) {
    item->closes = true;
    item->error.code = ErrorCode::kCmd;
    if (step.outcome == Kind::kError)
      AnswerError("ERR Protocol error: " + std::string(step.error), arena, item);
    return {Parsed::kItem, input.size()};
  }
  const Arguments arguments(step.arguments);
  const RespCommand* const command = FindRespCommand(arguments[0]);
  if (command != nullptr) item->verb = NumberOf(*command);
  const bool changes = in_multi_ || (command != nullptr && ChangesConnection(command->verb));
  is_later_ = changes && behind_requests;
  if (is_later_) return {Parsed::kLater, 0};
  if (command == nullptr) {
    multi_failed_ = true;
    AnswerError(UnknownCommand(arguments), arena, item);
    return {Parsed::kItem, step.consumed};
  }
  return Take(*command, arguments, step.consumed, behind_requests, arena, item);
}

exec::Frontend::Step Resp::Take(const RespCommand& command, Arguments arguments, size_t consumed,
                                bool behind_requests, base::Arena& arena, Item* item) {
  const Step taken{Parsed::kItem, consumed};
  const Verb verb = command.verb;
  if (!TakesArguments(command, arguments.size())) {
    multi_failed_ = true;
    AnswerError("ERR wrong number of arguments for '" + std::string(command.name) + "' command",
                arena, item);
    return taken;
  }
  const bool needs_login =
      verb != Verb::kAuth && verb != Verb::kHello && verb != Verb::kQuit && verb != Verb::kReset;
  if (!is_in_ && needs_login) {
    item->error.code = ErrorCode::kUnauth;
    AnswerError("NOAUTH Authentication required.", arena, item);
    return taken;
  }
  const bool ends_multi = verb == Verb::kExec || verb == Verb::kDiscard || verb == Verb::kMulti ||
                          verb == Verb::kReset || verb == Verb::kQuit;
  if (in_multi_ && !ends_multi) {
    Queue(command, arguments, arena, item);
    return taken;
  }
  may_drop_ = !behind_requests;
  if (verb == Verb::kExec) return {Parsed::kItem, EndMulti(arena, item) ? consumed : 0};
  if (verb == Verb::kRequire || verb == Verb::kOnce) {
    AnswerError(
        std::string(verb == Verb::kOnce ? "ERR ROW.ONCE" : "ERR ROW.REQUIRE") + " without MULTI",
        arena, item);
    return taken;
  }
  if (verb == Verb::kOutcome) {
    return {Parsed::kItem, PrepareOutcome(arguments, arena, item) ? consumed : 0};
  }
  if (!IsOfRow(verb)) {
    AnswerServer(command, arguments, arena, item);
    return taken;
  }
  if (may_drop_ && shapes_.size() > kShapesMax) shapes_.clear();
  std::vector<RespCall> calls;
  std::string error;
  if (MakeCalls(command, arguments, arena, &calls, &error)) {
    if (!OpenCalls(calls, arena, item, &error)) return {Parsed::kItem, 0};
  }
  if (error.empty())
    MakeItem(calls, /*is_exec=*/false, 1, arena, item);
  else
    AnswerError(error, arena, item);
  return taken;
}

// The text has the bytes that the client sent; those that would end the line are replaced.
std::string Resp::UnknownCommand(Arguments arguments) {
  constexpr size_t kShownMax = 128;
  std::string text = "ERR unknown command '" + std::string(arguments[0].substr(0, kShownMax)) +
                     "', with args beginning with: ";
  std::string shown;
  for (const std::string_view argument : arguments.subspan(1)) {
    if (shown.size() >= kShownMax) break;
    shown.append("'").append(argument.substr(0, kShownMax - shown.size())).append("' ");
  }
  return text + shown;
}

void Resp::Answer(std::string_view reply, base::Arena& arena, Item* item) const {
  WorkOf(*item).reply = Keep(reply, arena);
}

void Resp::AnswerError(std::string_view text, base::Arena& arena, Item* item) {
  base::Buffer reply;
  resp::AppendError(text, &reply);
  if (item->error.ok()) item->error.code = ErrorCode::kCmd;
  Answer(reply.view(), arena, item);
}

void Resp::Queue(const RespCommand& command, Arguments arguments, base::Arena& arena, Item* item) {
  const auto refuse = [&](std::string_view text) {
    multi_failed_ = true;
    AnswerError(text, arena, item);
  };
  if (command.verb == Verb::kWatch) {
    return AnswerError("ERR WATCH inside MULTI is not allowed", arena, item);
  }
  if (command.verb == Verb::kRefused) {
    settings_.info->AddRefused(command);
    return refuse(command.refusal);
  }
  if (!MayBeQueued(command.verb)) {
    return refuse("ERR Command not allowed inside a transaction: '" + std::string(command.name) +
                  "'");
  }
  if (command.verb == Verb::kOnce) {
    const bool is_second = std::any_of(queued_.begin(), queued_.end(), [](const Queued& queued) {
      return queued.command->verb == Verb::kOnce;
    });
    const size_t bytes = arguments[1].size();
    if (is_second || bytes == 0 || bytes > model::kTokenBytesMax) {
      return refuse("ERR a transaction has one token, of 1 to 64 bytes");
    }
  }
  for (const std::string_view argument : arguments) multi_bytes_ += argument.size();
  if (multi_bytes_ > settings_.limits.line_bytes_max || queued_.size() == model::kUnitRequestsMax) {
    return refuse("ERR a transaction has at most 64 commands, and resp_request_max_bytes");
  }
  std::vector<RespCall> calls;
  std::string error;
  if (IsOfRow(command.verb) && !MakeCalls(command, arguments, arena, &calls, &error)) {
    return refuse(error);
  }
  queued_.push_back({&command, {arguments.begin(), arguments.end()}});
  Answer("+QUEUED\r\n", arena, item);
}

// False: an index has to be opened first, and EXEC is parsed again.
bool Resp::EndMulti(base::Arena& arena, Item* item) {
  if (!in_multi_) {
    AnswerError("ERR EXEC without MULTI", arena, item);
    return true;
  }
  if (!multi_failed_ && !PrepareCommands(queued_, arena, item)) return false;
  if (multi_failed_) {
    AnswerError("EXECABORT Transaction discarded because of previous errors.", arena, item);
  }
  in_multi_ = multi_failed_ = false;
  multi_bytes_ = 0;
  has_exec_ = item->kind == Item::Kind::kRequest;
  if (!has_exec_) EndTransaction();
  return true;
}

bool Resp::AddWatched(base::Arena& arena, std::vector<RespCall>* calls, std::string* error) const {
  if (watches_too_many_) {
    *error = "ERR at most 64 keys are watched together";
    return false;
  }
  constexpr RespCommand kCompare{"watch", 2, Verb::kWatched, false, 1, 1};
  for (const Watched& watched : watched_) {
    const std::span<std::string_view> arguments = arena.Allocate<std::string_view>(2);
    arguments[0] = kCompare.name;
    arguments[1] = Keep(watched.key, arena);
    if (!MakeCalls(kCompare, arguments, arena, calls, error)) return false;
    RespCall& call = calls->back();
    call.number = 0;
    call.image = &arena.Allocate<RespImage>(1)[0];
    *call.image = watched.image;
    call.database = watched.database;
    if (call.in_store && call.container == nullptr) PutInStore(call, arena);
  }
  return true;
}

// The commands' bytes are copied, because the item outlives the queue.
bool Resp::PrepareCommands(std::span<const Queued> commands, base::Arena& arena, Item* item) {
  std::vector<RespCall> calls;
  std::string error;
  uint32_t number = 0;
  std::string_view token;
  std::string identity;
  const bool has_watched = AddWatched(arena, &calls, &error);
  for (const Queued& queued : commands) {
    if (!has_watched) break;
    const size_t first = calls.size();
    const std::span<std::string_view> arguments =
        arena.Allocate<std::string_view>(queued.arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = Keep(queued.arguments[i], arena);
    AppendIdentity(arguments, &identity);
    if (IsOfRow(queued.command->verb)) {
      if (!MakeCalls(*queued.command, arguments, arena, &calls, &error)) break;
    } else {
      base::Buffer reply;
      if (queued.command->verb == Verb::kOnce) {
        token = arguments[1];
        resp::AppendSimple("OK", &reply);
      } else if (queued.command->verb == Verb::kPublish)
        resp::AppendInteger(0, &reply);
      else if (arguments.size() > 1)
        resp::AppendBulk(arguments[1], &reply);
      else
        resp::AppendSimple("PONG", &reply);
      calls.emplace_back().fixed = Keep(reply.view(), arena);
    }
    ++number;
    for (size_t i = first; i < calls.size(); ++i) calls[i].number = number;
  }
  if (error.empty() && !OpenCalls(calls, arena, item, &error)) return false;
  if (error.empty() && !token.empty()) {
    const bool writes = std::any_of(calls.begin(), calls.end(), [](const RespCall& call) {
      return call.fixed.empty() && call.request.is_write();
    });
    if (!writes) error = "ERR ROW.ONCE is for transactions that write";
    exec::TokenedRequest* const tokened =
        writes ? TakeToken(token, identity, arena, item, &error) : nullptr;
    if (tokened == nullptr && error.empty()) return false;
    WorkOf(*item).tokened = tokened;
  }
  if (error.empty())
    MakeItem(calls, /*is_exec=*/true, commands.size(), arena, item);
  else
    AnswerError("EXECABORT nothing was done: " + error, arena, item);
  return true;
}

Outcome Resp::Execute(const Item& item, engine::Session& session, base::Buffer& out) const {
  if (item.unit != nullptr) return ExecuteUnit(item, session, out);
  RespWork& work = WorkOf(item);
  if (work.tokened != nullptr) return ExecuteOutcome(work, session, out);
  work.wrong = {};
  const size_t begin = out.size();
  const size_t bytes_max = settings_.limits.reply_bytes_max;
  Outcome outcome = ExecuteCall(work, work.calls[0], bytes_max, session, out);
  // A write that is done has its reply, whatever its size: it cannot be taken back alone.
  const bool is_too_large = out.size() - begin > bytes_max && !item.request.is_write();
  if (outcome.ok() && is_too_large) outcome = Outcome::Fail(ErrorCode::kResultsize);
  if (outcome.ok()) return outcome;
  out.Truncate(begin);
  if (outcome.is_answer()) resp::AppendError(TextOf(outcome.error, work, &work.calls[0]), &out);
  return outcome;
}

std::string Resp::TextOf(const model::Error& error, const RespWork& work,
                         const RespCall* call) const {
  const bool is_denied = error.code == ErrorCode::kDenied && work.wrong.empty();
  if (is_denied && call != nullptr && account() != nullptr) {
    return RespDeniedText(*call, *account());
  }
  return RespErrorText(error, work);
}

Outcome Resp::ExecuteUnit(const Item& item, engine::Session& session, base::Buffer& out) const {
  RespWork& work = WorkOf(item);
  Unit& unit = *item.unit;
  const size_t begin = out.size();
  size_t next = 0;  // The call whose reply comes next.
  size_t bytes_max = settings_.limits.reply_bytes_max;
  if (work.tokened != nullptr) bytes_max = std::min(bytes_max, model::kTokenAnswerBytesMax);
  const auto append_fixed = [&] {
    for (; next < work.calls.size() && !work.calls[next].fixed.empty(); ++next) {
      out.Append(work.calls[next].fixed);
    }
  };
  const auto execute = [&](uint32_t request, bool appends) {
    const auto call = std::find_if(work.calls.begin(), work.calls.end(), [&](const RespCall& one) {
      return one.fixed.empty() && one.unit_request == request;
    });
    const size_t before = out.size();
    work.wrong = {};
    if (appends) append_fixed();
    const size_t left = bytes_max - std::min(bytes_max, out.size() - begin);
    Outcome outcome = ExecuteCall(work, *call, left, session, out);
    const bool is_too_large = outcome.ok() && out.size() - begin > bytes_max;
    if (is_too_large) outcome = Outcome::Fail(ErrorCode::kResultsize);
    if (appends)
      ++next;
    else
      out.Truncate(before);
    return outcome;
  };
  const auto body = [&] {
    out.Truncate(begin);
    next = 0;
    if (work.is_exec) resp::AppendArray(work.commands, &out);
    const Outcome outcome = exec::RunRequests(unit, session, execute);
    append_fixed();
    return outcome;
  };
  const auto once = [&] { return ExecuteOnce(work, unit, session, out, body); };
  Outcome outcome = work.tokened == nullptr ? exec::ExecuteUnit(unit, session, execute, body)
                                            : exec::ExecuteUnit(unit, session, execute, once);
  if (outcome.ok() && unit.end == Unit::End::kApplied) return outcome;
  out.Truncate(begin);
  if (!outcome.is_answer()) return outcome;
  AppendFailure(work, &unit, outcome.error, out);
  outcome.rows = 0;
  return outcome;
}

// EXEC's nil says that the transaction was not applied. An error says which command is to blame,
// and never stands inside of an array, in which clients would take the other replies for done.
void Resp::AppendFailure(const RespWork& work, const Unit* unit, const model::Error& error,
                         base::Buffer& out) const {
  const RespCall* blamed = nullptr;
  for (const RespCall& call : work.calls) {
    const bool is_it = unit != nullptr && unit->position != 0 && call.fixed.empty() &&
                       call.unit_request + 1 == unit->position;
    if (is_it) blamed = &call;
  }
  if (error.ok()) {
    if (blamed != nullptr && !blamed->refusal.empty())
      return resp::AppendError("GUARD " + std::string(blamed->refusal), &out);
    if (blamed != nullptr && blamed->verb == Verb::kMSetNx) return resp::AppendInteger(0, &out);
    return resp::AppendNilArray(work.version, &out);
  }
  const std::string text = TextOf(error, work, blamed);
  if (!work.is_exec) return resp::AppendError(text, &out);
  resp::AppendError(
      "EXECABORT undone: " +
          (blamed == nullptr     ? std::string()
           : blamed->number == 0 ? std::string("WATCH: ")
                                 : "command " + std::to_string(blamed->number) + ": ") +
          text,
      &out);
}

bool Resp::MayConcern(const Item& item, const exec::WriteSet& writes) const {
  if (WorkOf(item).tokened != nullptr) return true;
  if (item.unit == nullptr) return writes.MayConcern(item.row());
  const auto& requests = item.unit->requests;
  return std::any_of(requests.begin(), requests.end(), [&](const exec::UnitRequest& one) {
    return writes.MayConcern({*one.index, one.request});
  });
}

void Resp::AddWrites(const Item& item, exec::WriteSet& writes) const {
  if (WorkOf(item).tokened != nullptr) tokens_->AddWrites(writes);
}

void Resp::Reply(const Item& item, base::Buffer& out) const {
  const RespWork& work = WorkOf(item);
  if (work.calls.empty() || item.error.ok()) return out.Append(work.reply);
  AppendFailure(work, item.unit, item.error, out);
}

void Resp::Refuse(Item& item, const model::Error& error, base::Arena&) const {
  item.kind = Item::Kind::kReply;
  item.error = error;
}

void Resp::ReplyError(const Item& item, model::Error error, base::Buffer& out) const {
  if (error.ok()) error.code = ErrorCode::kInternal;
  AppendFailure(item.detail != nullptr ? WorkOf(item) : RespWork(), item.unit, error, out);
}

void Resp::RefusePlain(std::string_view, base::Buffer& out) const {
  resp::AppendError(RespErrorText({ErrorCode::kNeedtls}, RespWork()), &out);
}

}  // namespace rowsocket::frontend
