#include "frontend/resp/connection_commands.h"

#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

using exec::Item;
using Verb = RespVerb;

bool RespConnectionCommands::Append(Verb verb, RespArguments arguments,
                                    const model::Account* account, base::Arena& arena,
                                    base::Buffer& out, Item* item) {
  std::string_view error;
  switch (verb) {
    case Verb::kAuth:
      login_.AppendAuth(arguments, arena, out, item);
      return true;
    case Verb::kHello:
      login_.AppendHello(arguments, account, arena, out, item);
      return true;
    case Verb::kQuit:
      item->closes = true;
      break;
    case Verb::kSelect:
      error = Select(arguments[1], account);
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

// A row is the same in every database; a string belongs to one.
std::string_view RespConnectionCommands::Select(std::string_view text,
                                                const model::Account* account) {
  const std::string_view wrong = TakeDatabase(text, &state_.database);
  if (wrong.empty()) own_client_.Show(state_, account);
  return wrong;
}

}  // namespace rowsocket::frontend
