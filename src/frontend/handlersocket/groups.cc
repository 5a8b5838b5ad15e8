// Groups of requests with one outcome (`G`).
#include <algorithm>
#include <string>
#include <utility>

#include "exec/unit.h"
#include "exec/write_set.h"
#include "frontend/handlersocket/frontend.h"
#include "frontend/handlersocket/verbs.h"
#include "protocol/handlersocket/encoder.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using exec::Unit;
using handlersocket::GroupRequest;
using model::ErrorCode;

namespace {

/// How many rows a request of a group may change. With `@` that is one row for each value, because
/// only the first row of each lookup is taken; the limit counts the rows of all lookups.
uint64_t RowsMaxOf(const model::Request& request) {
  if (!request.is_write() || request.verb == model::Request::Verb::kInsert) return 1;
  const model::Find& find = request.find;
  const uint64_t rows_max = find.has_in ? find.in_values.size() : model::kGroupRowsMax + 1;
  return std::min<uint64_t>(find.limit, rows_max);
}

void Fail(const model::Error& error, uint32_t position, Item* item) {
  item->kind = Item::Kind::kReply;
  item->error = error;
  item->unit->end = Unit::End::kFailed;
  item->unit->ended_at = position;
}

}  // namespace

// A group for whose lines the connection cannot wait is refused at once. Each of its lines is then
// refused as it comes, because none may be executed as a request of its own. The first line is
// parsed again whenever bytes come, so it has to be short.
exec::Frontend::Step HandlerSocketFrontend::ParseGroup(const GroupAt& at, std::string_view input,
                                                       base::Arena& arena, Item* item) {
  item->unit = &arena.Allocate<Unit>(1)[0];
  item->verb = VerbNumber(HandlerSocketVerb::kGroup);
  const std::optional<size_t> count = handlersocket::ParseGroup(at.line);
  const bool is_long = at.size > model::kGroupLineBytesMax;
  const size_t end = count && authenticated_ && !is_long
                         ? group_lines_.End(input, at.size, *count).value_or(0)
                         : 0;
  if (!count || !authenticated_ || is_long ||
      (end == 0 && input.size() > settings_.limits.line_bytes_max)) {
    Fail({!authenticated_ ? ErrorCode::kUnauth
          : !count        ? ErrorCode::kGroup
                          : ErrorCode::kLineLength},
         0, item);
    group_lines_.Reset();
    refused_lines_ = count.value_or(0);
    return {Parsed::kItem, at.size};
  }
  if (end == 0) return {Parsed::kNeedMore, 0};
  const std::string_view lines = input.substr(at.size, end - at.size);
  PrepareGroup(lines, *count, arena, item);
  const bool opens = item->kind == Item::Kind::kRequest && at.token != nullptr &&
                     !AttachTokenOfGroup(at, lines, arena, item);
  return {Parsed::kItem, opens ? 0 : end};
}

void HandlerSocketFrontend::PrepareGroup(std::string_view lines, size_t count, base::Arena& arena,
                                         Item* item) {
  Unit& unit = *item->unit;
  unit.requests = arena.Allocate<exec::UnitRequest>(count);
  item->weight = static_cast<uint32_t>(count);
  uint64_t rows = 0;
  for (uint32_t i = 0; i < count; ++i) {
    GroupRequest request = handlersocket::NextGroupRequest(&lines, parse_limits(), arena);
    Item member;
    PrepareRequest(request.command, &member);
    rows += RowsMaxOf(member.request);
    if (member.kind == Item::Kind::kRequest && rows > model::kGroupRowsMax) {
      member.kind = Item::Kind::kReply;
      member.error.code = ErrorCode::kGroup;
    }
    if (member.kind != Item::Kind::kRequest) return Fail(member.error, i + 1, item);
    unit.requests[i] = {member.index, member.request, request.is_required};
    if (i != 0 && (unit.writes || !member.request.is_write())) continue;
    unit.writes = member.request.is_write();
    unit.named_index = i;
    item->index = member.index;
    item->request = member.request;
  }
  item->kind = Item::Kind::kRequest;
  item->is_composite = true;
}

// Gives the group its token. False when an index of the table of tokens has to be opened first.
bool HandlerSocketFrontend::AttachTokenOfGroup(const GroupAt& at, std::string_view lines,
                                               base::Arena& arena, Item* item) {
  std::string text(at.line);
  for (const exec::UnitRequest& request : item->unit->requests) {
    const GroupRequest parsed = handlersocket::NextGroupRequest(&lines, parse_limits(), arena);
    text.append(parsed.is_required ? "R" : "O");
    AppendIdentity(parsed.line, *request.index, &text);
  }
  Unit* const unit = item->unit;
  if (!unit->writes) {
    Fail({ErrorCode::kToken}, 0, item);
    return true;
  }
  const bool is_ready = AttachToken(*at.token, text, arena, item);
  if (item->kind == Item::Kind::kReply) Fail(item->error, 0, item);
  if (!is_ready) item->unit = nullptr;
  return is_ready;
}

Outcome HandlerSocketFrontend::ExecuteGroup(const Item& item, engine::Session& session,
                                            base::Buffer& out) const {
  Unit& unit = *item.unit;
  const size_t begin = out.size();
  thread_local base::Buffer replies;
  if (replies.capacity() > model::kKeptValueBytesMax) replies.Release();
  const size_t bytes_max = item.detail == nullptr ? settings_.limits.reply_bytes_max
                                                  : std::min(settings_.limits.reply_bytes_max,
                                                             model::kTokenAnswerBytesMax);
  const auto execute = [&](uint32_t at, bool appends) {
    const exec::UnitRequest& one = unit.requests[at];
    const size_t before = replies.size();
    const Outcome outcome = ExecuteRequest(
        *one.index, one.request, bytes_max - std::min(bytes_max, before), session, replies);
    if (!appends) replies.Truncate(before);
    return outcome;
  };
  const auto run = [&] {
    replies.Truncate(0);
    const Outcome outcome = exec::RunRequests(unit, session, execute);
    if (unit.end != Unit::End::kApplied) return outcome;
    handlersocket::AppendGroupEnd(/*applied=*/true, 0, &out);
    out.Append(replies.view());
    return outcome;
  };
  const auto run_once = [&] {
    const auto& tokened = *static_cast<const exec::TokenedRequest*>(item.detail);
    return tokens_->ExecuteUnit(tokened, unit, session, out, run);
  };
  Outcome outcome;
  if (item.detail == nullptr)
    outcome = exec::ExecuteUnit(unit, session, execute, run);
  else
    outcome = exec::ExecuteUnit(unit, session, execute, run_once);
  if (outcome.ok() && unit.end == Unit::End::kApplied) return outcome;
  out.Truncate(begin);
  if (!outcome.is_answer()) return outcome;
  if (outcome.ok())
    AppendNotApplied(unit, out);
  else
    AppendGroupError(unit, outcome.error, out);
  outcome.rows = 0;
  return outcome;
}

void HandlerSocketFrontend::AppendNotApplied(const Unit& unit, base::Buffer& out) {
  handlersocket::AppendGroupEnd(/*applied=*/false, unit.ended_at, &out);
  AppendNothingDone(unit, out);
}

void HandlerSocketFrontend::AppendGroupError(const Unit& unit, const model::Error& error,
                                             base::Buffer& out) {
  handlersocket::AppendGroupError(error, unit.ended_at, &out);
  AppendNothingDone(unit, out);
}

void HandlerSocketFrontend::AppendNothingDone(const Unit& unit, base::Buffer& out) {
  for (size_t i = 0; i < unit.requests.size(); ++i) {
    handlersocket::AppendError({ErrorCode::kGroup}, &out);
  }
}

}  // namespace rowsocket::frontend
