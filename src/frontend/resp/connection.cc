// The commands that change the connection: its login, its database, MULTI, or its end.
#include <iterator>
#include <string>

#include "frontend/resp/frontend.h"
#include "frontend/resp/item.h"
#include "frontend/resp/numbers.h"

namespace rowsocket::frontend {

using exec::Item;
using model::ErrorCode;
using Verb = RespVerb;

void RespFrontend::AnswerServer(const RespCommand& command, Arguments arguments, base::Arena& arena,
                                Item* item) {
  base::Buffer out;
  if (!AnswerConnectionVerb(command.verb, arguments, arena, out, item) &&
      !server_.Append(command.verb, arguments, account(), out, item)) {
    settings_.info->AddRefused(command);
    return RejectItem(command.refusal, arena, item);
  }
  if (out.view().starts_with('-')) {
    if (item->error.ok()) item->error.code = ErrorCode::kCmd;
    RespWorkOf(*item).error = RespErrorOf(out.view());
  }
  AnswerItem(out.view(), arena, item);
}

bool RespFrontend::AnswerConnectionVerb(Verb verb, Arguments arguments, base::Arena& arena,
                                        base::Buffer& out, Item* item) {
  std::string_view error;
  switch (verb) {
    case Verb::kAuth:
      login_.AppendAuth(arguments, arena, out, item);
      return true;
    case Verb::kHello:
      login_.AppendHello(arguments, account(), arena, out, item);
      return true;
    case Verb::kQuit:
      item->closes = true;
      break;
    case Verb::kReset:
      Reset(item);
      resp::AppendSimple("RESET", &out);
      return true;
    case Verb::kSelect:
      error = Select(arguments[1]);
      break;
    case Verb::kMulti:
      if (state_.in_multi) {
        error = "ERR MULTI calls can not be nested";
        break;
      }
      state_.BeginMulti();
      break;
    case Verb::kDiscard:
      if (!state_.in_multi) {
        error = "ERR DISCARD without MULTI";
        break;
      }
      state_.EndMulti();
      changes_.EndWatch(*item);
      break;
    case Verb::kUnwatch:
      changes_.EndWatch(*item);
      break;
    default:
      return false;
  }
  if (error.empty())
    resp::AppendSimple("OK", &out);
  else
    resp::AppendError(error, &out);
  return true;
}

void RespFrontend::Reset(Item* item) {
  state_ = {};
  own_client_.replies().TurnOn();
  RespWorkOf(*item).is_silent = RespWorkOf(*item).is_skipped = false;
  changes_.EndWatch(*item);
  own_client_.SetName({});
  login_.Reset();
  if (settings_.accounts) SetAccount(settings_.account);
  ShowFacts();
}

// A row is the same in every database; a string belongs to one.
std::string_view RespFrontend::Select(std::string_view text) {
  int64_t number = 0;
  if (!ParsePlainInteger(text, &number)) return kNoInteger;
  if (number < 0 || number >= static_cast<int64_t>(std::size(kRespDatabases))) {
    return "ERR DB index is out of range";
  }
  state_.database = kRespDatabases[static_cast<size_t>(number)];
  ShowFacts();
  return {};
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

}  // namespace rowsocket::frontend
