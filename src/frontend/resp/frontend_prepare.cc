// What a command of RESP that is done now becomes: a request, or an answer without the engine.
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "frontend/resp/frontend.h"
#include "frontend/resp/help.h"
#include "frontend/resp/info.h"
#include "frontend/resp/item.h"
#include "frontend/resp/work.h"
#include "model/error.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using exec::Item;
using model::ErrorCode;
using Verb = RespVerb;

namespace {

/// Whether the command changes the state of its connection, and may do so while the turn may stop
/// before it (MustBeLater).
bool ChangesState(Verb verb) {
  return verb == Verb::kSelect || verb == Verb::kHello || verb == Verb::kMulti ||
         verb == Verb::kDiscard;
}

}  // namespace

exec::Frontend::Step RespFrontend::PrepareNow(const RespCommand& command, RespArguments arguments,
                                              std::string_view bytes, base::Arena& arena,
                                              Item* item) {
  const size_t consumed = bytes.size();
  const Step taken{Parsed::kItem, consumed};
  const Verb verb = command.verb;
  if (verb == Verb::kExec)
    return {Parsed::kItem, transactions_.Exec(account(), arena, item) ? consumed : 0};
  if (verb == Verb::kRowRequire || verb == Verb::kRowOnce) {
    AnswerItemError(
        std::string(verb == Verb::kRowOnce ? "ERR ROW.ONCE" : "ERR ROW.REQUIRE") + " without MULTI",
        arena, item);
    return taken;
  }
  if (verb == Verb::kRowOutcome) {
    return {Parsed::kItem,
            tokens_.PrepareOutcome(arguments, account(), arena, item) ? consumed : 0};
  }
  if (verb == Verb::kInfo && RespMonitor::InfoCountsKeys(arguments.subspan(1))) {
    return {Parsed::kItem, PrepareInfo(command, arguments, arena, item) ? consumed : 0};
  }
  if (!AsksEngine(verb) || (command.first_key == 2 && AsksForHelp(arguments))) {
    if (changes_.MayComeToNothing() && ChangesState(verb)) changes_.Note(*item);
    AnswerAlone(command, arguments, arena, item);
    return taken;
  }
  std::string error;
  finder_.CountParsed(consumed);
  const std::span<RespCall> calls =
      maker_.Make(command, arguments, account() == nullptr, arena, &error);
  if (!opener_.Open(calls, account(), arena, item, &error)) return {Parsed::kItem, 0};
  if (error.empty()) {
    MakeRequestItem(calls, /*is_exec=*/false, 1, arena, item);
  } else {
    if (error.starts_with("NOTSERVED")) shared_.info->AddRefused(command);
    AnswerItemError(error, arena, item);
  }
  if (error.empty() && requests_.Note(command, arguments, bytes))
    finder_.NoteRepeated(calls.front());
  if (verb == Verb::kWatch && item->kind == Item::Kind::kRequest)
    watched_.Note(RespWorkOf(*item).calls);
  else if (verb == Verb::kWatch && item->kind == Item::Kind::kReply)
    changes_.FailWatch(*item);
  return taken;
}

// If the keys cannot be counted (the store's table is missing, may not be read, or a DDL statement
// has it), INFO answers at once, without their numbers: tools ask for INFO first, most of all when
// something is wrong.
bool RespFrontend::PrepareInfo(const RespCommand& command, RespArguments arguments,
                               base::Arena& arena, Item* item) {
  RespCommand counting = command;
  counting.verb = Verb::kInfoKeys;
  std::string error;
  const std::span<RespCall> calls =
      maker_.Make(counting, arguments, account() == nullptr, arena, &error);
  if (!opener_.Open(calls, account(), arena, item, &error)) {
    item->takes_busy = true;
    return false;
  }
  if (error.empty())
    MakeRequestItem(calls, /*is_exec=*/false, 1, arena, item);
  else
    AnswerAlone(command, arguments, arena, item);
  return true;
}

void RespFrontend::AnswerAlone(const RespCommand& command, RespArguments arguments,
                               base::Arena& arena, Item* item) {
  base::Buffer out;
  if (command.verb == Verb::kReset) {
    Reset(item);
    resp::AppendSimple("RESET", &out);
  } else if (AsksForHelp(arguments)) {
    AppendHelp(arguments, &out);
  } else if (!connection_.Append(command.verb, arguments, account(), arena, out, item) &&
             !server_.Append(command.verb, arguments, account(), out, item)) {
    shared_.info->AddRefused(command);
    return RejectItem(command.refusal, arena, item);
  }
  if (out.view().starts_with("-NOTSERVED")) shared_.info->AddRefused(command);
  if (out.view().starts_with('-')) {
    if (item->error.ok()) item->error.code = ErrorCode::kCmd;
    RespWorkOf(*item).error = RespErrorOf(out.view());
  }
  AnswerItem(out.view(), arena, item);
}

void RespFrontend::Reset(Item* item) {
  state_ = {};
  own_client_.replies().TurnOn();
  RespWorkOf(*item).is_silent = RespWorkOf(*item).is_skipped = false;
  changes_.EndWatch(*item);
  own_client_.SetName({});
  login_.Reset();
  if (shared_.accounts) SetAccount(shared_.account);
  ShowFacts();
}

}  // namespace rowsocket::frontend
