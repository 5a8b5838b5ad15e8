#include "frontend/resp/item.h"

#include <algorithm>
#include <cstdint>

#include "base/buffer.h"
#include "exec/unit.h"
#include "frontend/resp/info.h"
#include "frontend/resp/watch.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using exec::Item;
using exec::Unit;
using model::ErrorCode;
using Verb = RespVerb;

void AnswerItem(std::string_view reply, base::Arena& arena, Item* item) {
  RespWorkOf(*item).reply = arena.Copy(reply);
}

void AnswerItemError(std::string_view text, base::Arena& arena, Item* item) {
  base::Buffer reply;
  resp::AppendError(text, &reply);
  if (item->error.ok()) item->error.code = ErrorCode::kCmd;
  RespWorkOf(*item).error = RespErrorOf(text);
  AnswerItem(reply.view(), arena, item);
}

void RejectItem(std::string_view text, base::Arena& arena, Item* item) {
  RespWorkOf(*item).is_rejected = true;
  AnswerItemError(text, arena, item);
}

void MakeRequestItem(std::span<RespCall> calls, bool is_exec, size_t commands, base::Arena& arena,
                     Item* item) {
  RespWork& work = RespWorkOf(*item);
  work.is_exec = is_exec;
  work.commands = commands;
  work.calls = calls;
  // The reply to EXEC promises that all is on disk, even if the container of a key allows relaxed
  // writes.
  for (RespCall& call : calls) call.request.relaxed = call.request.relaxed && !is_exec;
  const auto asks = static_cast<size_t>(std::count_if(
      calls.begin(), calls.end(), [](const RespCall& call) { return call.known_reply.empty(); }));
  if (asks == 0) {
    base::Buffer reply;
    resp::AppendArray(calls.size(), &reply);
    for (const RespCall& call : calls) reply.Append(call.known_reply);
    return AnswerItem(reply.view(), arena, item);
  }
  item->kind = Item::Kind::kRequest;
  if (!is_exec && calls.size() == 1) {
    item->index = calls[0].index;
    item->request = calls[0].request;
    item->is_composite = IsFlush(calls[0].verb);
    return;
  }
  MarkAbsent(work.calls);
  Unit& unit = arena.Allocate<Unit>(1)[0];
  unit.requests = arena.Allocate<exec::UnitRequest>(asks);
  uint32_t at = 0;
  for (RespCall& call : work.calls) {
    call.unit_request = at;
    if (!call.known_reply.empty()) continue;
    exec::UnitRequest& one = unit.requests[at];
    one.index = call.index;
    one.request = call.request;
    one.is_required = call.verb == Verb::kRowRequire || call.verb == Verb::kCheckWatch ||
                      call.watch.absent != nullptr ||
                      (call.verb == Verb::kMSetNx && call.string_command->only_if_absent);
    const bool is_named = at == 0 || (!unit.writes && call.request.is_write());
    if (is_named) {
      unit.writes = call.request.is_write();
      unit.named_index = at;
      item->index = call.index;
      item->request = call.request;
    }
    ++at;
  }
  item->unit = &unit;
  item->is_composite = true;
  item->weight = static_cast<uint32_t>(asks);
}

}  // namespace rowsocket::frontend
