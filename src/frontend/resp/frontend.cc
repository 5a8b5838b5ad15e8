#include "frontend/resp/frontend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "exec/unit.h"
#include "exec/write_set.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/info.h"
#include "frontend/resp/item.h"
#include "frontend/resp/rows.h"
#include "frontend/resp/unit_run.h"
#include "frontend/resp/watch.h"
#include "frontend/resp/work.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using exec::Unit;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// The line end after the last argument, and the beginning of the next request.
constexpr size_t kLineEndsBytes = 8;

/// RespErrorOf the item's own reply; 0: no error. `replies` has it after those to the commands that
/// MULTI had queued.
uint8_t ErrorIn(std::string_view replies, const RespWork& work) {
  const size_t begin = work.queued.size();
  return begin < replies.size() && replies[begin] == '-' ? RespErrorOf(replies.substr(begin)) : 0;
}

}  // namespace

RespFrontend::RespFrontend(const RespShared& shared)
    : shared_(shared),
      locator_(shared),
      monitor_(shared),
      own_client_(shared),
      changes_(state_, own_client_, watched_),
      login_(shared, state_, own_client_),
      connection_(state_, changes_, own_client_, login_),
      server_(shared, state_, locator_, monitor_, own_client_),
      maker_(shared, state_, locator_),
      opener_(finder_, requests_),
      tokens_(shared.tokens),
      transactions_(shared,
                    {state_, changes_, watched_, maker_, finder_, opener_, tokens_, server_}) {
  SetAccount(shared.account);
}

void RespFrontend::SetConnectionId(uint64_t id) {
  exec::Frontend::SetConnectionId(id);
  own_client_.SetId(id);
  ShowFacts();
}

size_t RespFrontend::input_bytes_max() const {
  // All arguments, then the bytes by which the parser sees that a count is too long.
  const resp::RequestLimits limits = request_limits();
  return limits.bytes_max + limits.beside_bytes_max + model::kRespCountBytesMax + kLineEndsBytes;
}

resp::RequestLimits RespFrontend::request_limits() const {
  if (login_.is_logged_in()) {
    return {model::kRespArgumentsMax, shared_.limits.line_bytes_max, true,
            model::kRespBesideArgumentBytesMax};
  }
  return {model::kRespUnauthenticatedArgumentsMax, model::kRespUnauthenticatedBytesMax, false};
}

void RespFrontend::Rewind() {
  requests_.Rewind();
  if (std::exchange(last_parse_said_later_, false)) return;
  own_client_.replies().SetSkipInTurn(false);
}

void RespFrontend::Finished(const Item& item, const model::Error& answer) {
  if (item.is_silent()) return;
  const RespWork& work = RespWorkOf(item);
  if (work.is_skipped) own_client_.replies().EndSkip();
  if (work.error != 0 && answer.ok()) CountRefusal();
  if (work.error != 0) monitor_.CountError(work.error, item.verb, work.is_rejected);
  monitor_.Count({work.queued.empty() ? 1 : work.commands + 2, work.hits, work.misses});
  const bool may_have_changed = answer.code == ErrorCode::kOpenTable ||
                                answer.code == ErrorCode::kIdxnum || answer.code == ErrorCode::kFld;
  if (may_have_changed) finder_.MarkStale();
  if (may_have_changed && shared_.keyspaces != nullptr) shared_.keyspaces->catalog.MarkStale();
  if (changes_.Finished(work, answer)) ShowHeldBytes();
}

exec::Frontend::Step RespFrontend::Parse(std::string_view input, bool after_requests,
                                         base::Arena& arena, Item* item) {
  last_parse_said_later_ = own_client_.replies().is_skip_in_turn();
  if (last_parse_said_later_) return {Parsed::kLater, 0};
  changes_.BeginParse(after_requests);
  const Step step = ParseOne(input, arena, item);
  own_client_.activity().queued.store(
      state_.in_multi ? static_cast<int64_t>(state_.queued->size()) : -1,
      std::memory_order_relaxed);
  if (state_.in_multi)
    own_client_.activity().multi_bytes.store(state_.multi_bytes, std::memory_order_relaxed);
  ShowHeldBytes();
  finder_.EndParse(step.parsed == Parsed::kItem && item->kind == Item::Kind::kSilentOpen);
  own_client_.replies().SetSkipInTurn(step.parsed == Parsed::kItem && !item->is_silent() &&
                                      RespWorkOf(*item).is_skipped);
  return step;
}

exec::Frontend::Step RespFrontend::ParseForLane(std::string_view input, base::Arena& arena,
                                                Item* item) {
  finder_.AllowStale(true);
  changes_.AllowDrop(true);
  const Step step = Parse(input, /*after_requests=*/false, arena, item);
  changes_.AllowDrop(false);
  finder_.AllowStale(false);
  return step;
}

exec::Frontend::Step RespFrontend::ParseOne(std::string_view input, base::Arena& arena,
                                            Item* item) {
  RespActivity& activity = own_client_.activity();
  const bool after_requests = changes_.after_requests();
  if (!after_requests) {
    locator_.BeginTurn();
    if (changes_.Undo()) ShowFacts();
    activity.since_ms.store(base::CoarseNowMs(), std::memory_order_relaxed);
  }
  finder_.BeginParse(after_requests, activity.since_ms.load(std::memory_order_relaxed));
  const resp::RequestStep step = requests_.Next(input, request_limits(), arena);
  using Result = resp::RequestStep::Result;
  if (step.result == Result::kNeedMore) return {Parsed::kNeedMore, 0};
  RespWork& work = arena.Allocate<RespWork>(1)[0];
  work.version = state_.version;
  work.is_silent = !own_client_.replies().is_on();
  work.is_skipped = own_client_.replies().skips_one() && step.result != Result::kNothing;
  item->kind = Item::Kind::kReply;
  item->detail = &work;
  if (step.result == Result::kNothing) return {Parsed::kItem, step.consumed};
  if (step.result == Result::kHttp || step.result == Result::kError) {
    // What follows the error may hold a password, and input that may be parsed again is not wiped.
    last_parse_said_later_ = shared_.accounts && after_requests;
    if (last_parse_said_later_) return {Parsed::kLater, 0};
    item->closes = true;
    item->wipes_input = shared_.accounts && !changes_.MayComeToNothing();
    item->error.code = ErrorCode::kCmd;
    if (step.result == Result::kError)
      AnswerItemError("ERR Protocol error: " + std::string(step.error), arena, item);
    return {Parsed::kItem, input.size()};
  }
  const RespArguments arguments(step.arguments);
  const RespCommand* const command = requests_.CommandOf(arguments[0]);
  if (command != nullptr) item->verb = NumberOf(*command);
  activity.verb.store(item->verb, std::memory_order_relaxed);
  last_parse_said_later_ =
      after_requests &&
      (finder_.has_many() || (command != nullptr && changes_.MustBeLater(*command, arguments)));
  if (last_parse_said_later_) {
    resp::WipeCopies(input, arguments);
    return {Parsed::kLater, 0};
  }
  const Step taken = ParseCommand(command, step, input, arena, item);
  if (login_.MayHoldPassword(command) && item->kind == Item::Kind::kReply &&
      !changes_.MayComeToNothing()) {
    resp::WipeCopies(input, arguments);
    item->wipes_input = true;
  }
  return taken;
}

exec::Frontend::Step RespFrontend::ParseCommand(const RespCommand* command,
                                                const resp::RequestStep& step,
                                                std::string_view input, base::Arena& arena,
                                                Item* item) {
  const RespArguments arguments(step.arguments);
  // SKIP would be only for the reply to MULTI.
  const bool may_be_whole = command != nullptr && command->verb == Verb::kMulti &&
                            TakesArguments(*command, arguments.size()) && login_.is_logged_in() &&
                            !own_client_.replies().skips_one();
  if (may_be_whole) {
    const std::optional<size_t> whole =
        transactions_.TakeWhole(input, step.consumed, request_limits(), account(), arena, item);
    if (whole) return {Parsed::kItem, *whole};
  }
  if (command == nullptr) {
    state_.multi_failed = true;
    const RespArguments shown = login_.is_logged_in() ? arguments : arguments.first(1);
    AnswerItemError(RespUnknownCommand(shown), arena, item);
    return {Parsed::kItem, step.consumed};
  }
  if (arguments.size() > model::kRespServedArgumentsMax) {
    state_.multi_failed = true;
    RejectItem("TOOLARGE a command has at most " + std::to_string(model::kRespServedArgumentsMax) +
                   " words",
               arena, item);
    if (command->verb == Verb::kWatch && !state_.in_multi) changes_.FailWatch(*item);
    return {Parsed::kItem, step.consumed};
  }
  return PrepareCommand(*command, arguments, input.substr(0, step.consumed), arena, item);
}

exec::Frontend::Step RespFrontend::PrepareCommand(const RespCommand& command,
                                                  RespArguments arguments, std::string_view bytes,
                                                  base::Arena& arena, Item* item) {
  const Step taken{Parsed::kItem, bytes.size()};
  const Verb verb = command.verb;
  if (!TakesArguments(command, arguments.size())) {
    const std::string text = RespWrongCount(command.name);
    if (verb == Verb::kExec) {
      const std::string why = text.substr(text.find(' ') + 1);  // Without its prefix.
      RejectItem("EXECABORT Transaction discarded because of: " + why, arena, item);
      changes_.EndMulti(*item);
      changes_.EndWatch(*item);  // Outside MULTI, EndMulti does nothing.
      return taken;
    }
    state_.multi_failed = true;
    RejectItem(text, arena, item);
    return taken;
  }
  const bool needs_login =
      verb != Verb::kAuth && verb != Verb::kHello && verb != Verb::kQuit && verb != Verb::kReset;
  if (!login_.is_logged_in() && needs_login) {
    item->error.code = ErrorCode::kUnauth;
    AnswerItemError("NOAUTH Authentication required.", arena, item);
    return taken;
  }
  const bool is_never_queued = verb == Verb::kExec || verb == Verb::kDiscard ||
                               verb == Verb::kMulti || verb == Verb::kReset || verb == Verb::kQuit;
  if (state_.in_multi && !is_never_queued) {
    transactions_.Queue(command, arguments, account(), arena, item);
    return taken;
  }
  return PrepareNow(command, arguments, bytes, arena, item);
}

void RespFrontend::CountError(std::string_view reply) const {
  monitor_.CountError(RespErrorOf(reply),
                      own_client_.activity().verb.load(std::memory_order_relaxed),
                      /*is_rejected=*/false);
}

void RespFrontend::LoginEnded(const model::Error& answer, base::Buffer& out) {
  const size_t begin = out.size();
  if (answer.ok()) finder_.Clear();
  login_.Ended(answer, account(), out);
  if (!answer.ok()) CountError(out.view().substr(begin));
  if (!own_client_.replies().is_on()) out.Truncate(begin);
  own_client_.replies().EndSkip();
}

void RespFrontend::AccountEnded(base::Buffer& out) {
  resp::AppendError("NOAUTH the account has changed: log in again", &out);
}

void RespFrontend::Opened(Item& item, const Outcome& outcome,
                          std::shared_ptr<engine::Index> index) {
  if (tokens_.AsksFor(item)) return tokens_.Opened(outcome, std::move(index));
  finder_.Opened(outcome, std::move(index));
}

Outcome RespFrontend::Execute(const Item& item, engine::Session& session, base::Buffer& out) const {
  const size_t begin = out.size();
  const Outcome outcome = ExecuteAny(item, session, out);
  RespWork& work = RespWorkOf(item);
  work.error = ErrorIn(out.view().substr(begin), work);
  if (work.is_silent) out.Truncate(begin);
  return outcome;
}

Outcome RespFrontend::ExecuteAny(const Item& item, engine::Session& session,
                                 base::Buffer& out) const {
  if (item.unit != nullptr) return ExecuteUnit(item, session, out);
  RespWork& work = RespWorkOf(item);
  if (work.tokened != nullptr) return tokens_.ExecuteOutcome(work, account(), session, out);
  if (work.calls[0].verb == Verb::kInfoKeys) return monitor_.ExecuteInfo(work, session, out);
  work.wrong = {};
  work.hits = work.misses = 0;
  const size_t begin = out.size();
  const size_t bytes_max = shared_.limits.reply_bytes_max;
  work.calls[0].request.shares_row = item.request.shares_row;
  Outcome outcome = ExecuteCall(work, work.calls[0], bytes_max, session, out);
  // A write that has taken effect is answered, whatever the size of its reply, because it cannot be
  // taken back alone.
  const bool is_too_large = out.size() - begin > bytes_max && !item.request.is_write();
  if (outcome.ok() && is_too_large) outcome = Outcome::Fail(ErrorCode::kResultsize);
  if (outcome.ok()) return outcome;
  out.Truncate(begin);
  if (outcome.is_answer())
    resp::AppendError(RespFailureText(outcome.error, work, &work.calls[0], account()), &out);
  return outcome;
}

Outcome RespFrontend::ExecuteUnit(const Item& item, engine::Session& session,
                                  base::Buffer& out) const {
  RespWork& work = RespWorkOf(item);
  Unit& unit = *item.unit;
  for (RespCall& call : work.calls) {
    if (!call.known_reply.empty()) continue;
    call.request.shares_row = unit.requests[call.unit_request].request.shares_row;
  }
  const size_t before_all = out.size();
  out.Append(work.queued);
  const size_t begin = out.size();
  size_t bytes_max = shared_.limits.reply_bytes_max;
  if (work.tokened != nullptr) bytes_max = std::min(bytes_max, model::kTokenAnswerBytesMax);
  RespUnitRun run(work, unit, session, bytes_max, out);
  const auto execute = [&run](uint32_t request, bool appends) {
    return run.ExecuteOne(request, appends);
  };
  const auto body = [&run] { return run.Run(); };
  // A token that has taken effect already gets its former answer, whatever the WATCH before it
  // says.
  const auto once = [&] { return tokens_.ExecuteOnce(work, unit, session, out, body); };
  Outcome outcome;
  if (work.tokened != nullptr)
    outcome = exec::ExecuteUnit(unit, session, execute, once);
  else if (run.has_failed_watch())
    outcome = body();
  else
    outcome = exec::ExecuteUnit(unit, session, execute, body);
  if (outcome.ok() && unit.end == Unit::End::kApplied) return outcome;
  out.Truncate(outcome.is_answer() ? begin : before_all);
  if (!outcome.is_answer()) return outcome;
  if (outcome.ok() && run.has_failed_watch())
    resp::AppendError(RespNothingDone(kRespWatchFailed), &out);
  else
    AppendRespFailure(work, &unit, outcome.error, account(), out);
  outcome.rows = 0;
  return outcome;
}

bool RespFrontend::MayShareRow(const Item& item, engine::Session& session) const {
  const RespWork& work = RespWorkOf(item);
  return work.calls.empty() || !NoRowCanHaveKey(work.calls[0], session);
}

bool RespFrontend::MayConcern(const Item& item, const exec::WriteSet& writes) const {
  if (RespWorkOf(item).tokened != nullptr) return true;
  if (item.unit == nullptr) return writes.MayConcern(item.row_name());
  const auto& requests = item.unit->requests;
  return std::any_of(requests.begin(), requests.end(), [&](const exec::UnitRequest& one) {
    return writes.MayConcern({*one.index, one.request});
  });
}

void RespFrontend::AddWrites(const Item& item, exec::WriteSet& writes) const {
  if (RespWorkOf(item).tokened != nullptr) tokens_.AddWrites(writes);
}

void RespFrontend::Reply(const Item& item, base::Buffer& out) const {
  RespWork& work = RespWorkOf(item);
  if (work.is_silent) return;
  const size_t begin = out.size();
  out.Append(work.queued);
  if (work.calls.empty() || item.error.ok()) return out.Append(work.reply);
  AppendRespFailure(work, item.unit, item.error, account(), out);
  work.error = ErrorIn(out.view().substr(begin), work);
}

void RespFrontend::ReplyError(const Item& item, model::Error error, base::Buffer& out) const {
  if (error.ok()) error.code = ErrorCode::kInternal;
  if (item.detail == nullptr)
    return AppendRespFailure(RespWork(), item.unit, error, account(), out);
  RespWork& work = RespWorkOf(item);
  if (work.is_silent) return;
  const size_t begin = out.size();
  out.Append(work.queued);
  AppendRespFailure(work, item.unit, error, account(), out);
  work.error = ErrorIn(out.view().substr(begin), work);
}

void RespFrontend::RefusePlain(std::string_view, base::Buffer& out) const {
  const std::string text = RespErrorText({ErrorCode::kNeedtls}, RespWork());
  CountError(text);
  resp::AppendError(text, &out);
}

}  // namespace rowsocket::frontend
