#include "frontend/resp/transactions.h"

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/item.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/watch.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using exec::Item;
using Verb = RespVerb;

namespace {

/// How many bytes of a transaction a command counts as: an empty argument takes memory, too.
size_t BytesOf(RespArguments arguments) {
  size_t bytes = arguments.size() * sizeof(std::string);
  for (const std::string_view argument : arguments) bytes += argument.size();
  return bytes;
}

}  // namespace

std::string RespTransactions::WhyNotQueued(const CommandWithArguments& added, size_t bytes,
                                           size_t before, bool has_token) const {
  const auto& [command, arguments] = added;
  if (command->verb == Verb::kWatch) return "ERR WATCH inside MULTI is not allowed";
  if (command->verb == Verb::kRefused) return std::string(command->refusal);
  if (!TraitsOf(command->verb).may_be_queued()) {
    return "ERR Command not allowed inside a transaction: '" + std::string(command->name) + "'";
  }
  if (command->verb == Verb::kRowOnce && (has_token || !exec::IsToken(arguments[1]))) {
    return "ERR a transaction has one token, of 1 to " + std::to_string(model::kTokenBytesMax) +
           " bytes";
  }
  if (bytes > shared_.limits.line_bytes_max || before == model::kRespCommandsMax) {
    return "TOOLARGE a transaction has at most " + std::to_string(model::kRespCommandsMax) +
           " commands, and resp_request_max_bytes";
  }
  return {};
}

void RespTransactions::Queue(const RespCommand& command, RespArguments arguments,
                             const model::Account* account, base::Arena& arena, Item* item) {
  const size_t bytes = BytesOf(arguments);
  const bool has_token =
      command.verb == Verb::kRowOnce && std::any_of(state_.queued->begin(), state_.queued->end(),
                                                    [](const RespState::Queued& queued) {
                                                      return queued.command->verb == Verb::kRowOnce;
                                                    });
  std::string why = WhyNotQueued({&command, arguments}, state_.multi_bytes + bytes,
                                 state_.queued->size(), has_token);
  if (why.empty() && AsksEngine(command.verb)) {
    std::vector<RespCall> calls;
    maker_.Add(command, arguments, account == nullptr, arena, &calls, &why);
    state_.multi_key_calls += calls.size();
    if (why.empty() && state_.multi_key_calls > model::kRespUnitKeysMax) why = RespTooManyKeys();
  }
  if (!why.empty()) {
    if (why.starts_with("NOTSERVED")) shared_.info->AddRefused(command);
    if (command.verb != Verb::kWatch) state_.multi_failed = true;  // As in Redis.
    return RejectItem(why, arena, item);
  }
  state_.queued->push_back({&command, {arguments.begin(), arguments.end()}});
  state_.multi_bytes += bytes;
  AnswerItem("+QUEUED\r\n", arena, item);
}

bool RespTransactions::Exec(const model::Account* account, base::Arena& arena, Item* item) {
  if (!state_.in_multi) {
    AnswerItemError("ERR EXEC without MULTI", arena, item);
    return true;
  }
  if (!state_.multi_failed && !PrepareQueued(account, arena, item)) return false;
  if (state_.multi_failed) {
    AnswerItemError("EXECABORT Transaction discarded because of previous errors.", arena, item);
  }
  changes_.EndMulti(*item);
  return true;
}

// What a WATCH of the same turn sees is not known yet: its call gets the image when it runs.
bool RespTransactions::AddWatched(const model::Account* account, base::Arena& arena,
                                  std::vector<RespCall>* calls, std::string* error) const {
  if (watched_.has_failed()) {
    *error = kRespWatchFailed;
    return false;
  }
  if (watched_.count() > model::kRespWatchedKeysMax) {
    *error = "ERR at most " + std::to_string(model::kRespWatchedKeysMax) +
             " keys are watched together, of " + std::to_string(model::kRespWatchedBytesMax) +
             " bytes";
    return false;
  }
  constexpr RespCommand kCompare{"watch", 2, Verb::kCheckWatch, false, 1, 1};
  const auto add = [&](std::string_view key, std::string_view database, RespImage* image) {
    const std::span<std::string_view> arguments = arena.Allocate<std::string_view>(2);
    arguments[0] = kCompare.name;
    arguments[1] = key;
    if (!maker_.Add(kCompare, arguments, account == nullptr, arena, calls, error)) return false;
    RespCall& call = calls->back();
    call.number = 0;
    call.watch.image = image;
    call.database = database;
    if (IsOfStore(call)) PutInStore(call, arena);
    return true;
  };
  for (const RespWatchedKeys::Seen& seen : watched_.seen()) {
    RespImage* const image = &arena.Allocate<RespImage>(1)[0];
    *image = seen.image;
    if (!add(arena.Copy(seen.key), seen.database, image)) return false;
  }
  const std::span<const RespCall* const> coming = watched_.coming();
  return std::all_of(coming.begin(), coming.end(), [&](const RespCall* call) {
    return add(call->arguments[call->key_at], call->database, call->watch.image);
  });
}

bool RespTransactions::AddCommand(const CommandWithArguments& added, const model::Account* account,
                                  base::Arena& arena, Item* item, Transaction* transaction,
                                  std::string* error) const {
  const auto& [command, arguments] = added;
  transaction->identity_words.push_back(arguments);
  const size_t first = transaction->calls.size();
  bool is_added =
      AsksEngine(command->verb)
          ? maker_.Add(*command, arguments, account == nullptr, arena, &transaction->calls, error)
          : AddAnswered(added, account, arena, item, transaction, error);
  if (is_added && AsksEngine(command->verb)) {
    transaction->key_calls += transaction->calls.size() - first;
    is_added = transaction->key_calls <= model::kRespUnitKeysMax;
    if (!is_added) *error = RespTooManyKeys();
  }
  if (!is_added) {
    *error = Blame(transaction->commands + 1) + *error;
    return false;
  }
  ++transaction->commands;
  for (size_t i = first; i < transaction->calls.size(); ++i) {
    transaction->calls[i].number = transaction->commands;
  }
  return true;
}

bool RespTransactions::AddAnswered(const CommandWithArguments& added, const model::Account* account,
                                   base::Arena& arena, Item* item, Transaction* transaction,
                                   std::string* error) const {
  const auto& [command, arguments] = added;
  base::Buffer reply;
  if (command->verb == Verb::kRowOnce) {
    transaction->token = arguments[1];
    resp::AppendSimple("OK", &reply);
  } else if (command->verb == Verb::kUnwatch) {  // EXEC has compared the keys already.
    resp::AppendSimple("OK", &reply);
  } else if (!server_.Append(command->verb, arguments, account, reply, item)) {
    ROWSOCKET_REQUIRE(!"a command that may be queued has no reply");
    resp::AppendError("ERR the command has no reply in a transaction", &reply);
  }
  const std::string_view text = reply.view();
  if (text.starts_with('-')) {
    *error = text.substr(1, text.find('\r') - 1);
    return false;
  }
  transaction->calls.emplace_back().known_reply = arena.Copy(text);
  return true;
}

bool RespTransactions::Make(Transaction& transaction, std::string error,
                            const model::Account* account, base::Arena& arena, Item* item) {
  std::vector<RespCall>& calls = transaction.calls;
  const RespCall* wrong = nullptr;
  if (error.empty() && !opener_.Open(calls, account, arena, item, &error, &wrong)) return false;
  if (wrong != nullptr) error = Blame(wrong->number) + error;
  if (error.empty() && !transaction.token.empty()) {
    const bool writes = std::any_of(calls.begin(), calls.end(), [](const RespCall& call) {
      return call.known_reply.empty() && call.request.is_write();
    });
    if (!writes) error = "ERR ROW.ONCE is for transactions that write";
    exec::TokenedRequest* const tokened =
        writes ? tokens_.Prepare(transaction.token,
                                 RespTokens::IdentityOf(state_, transaction.identity_words), arena,
                                 item, &error)
               : nullptr;
    if (tokened == nullptr && error.empty()) return false;
    RespWorkOf(*item).tokened = tokened;
  }
  if (error.empty())
    MakeRequestItem(CopyCalls(calls, arena), /*is_exec=*/true, transaction.commands, arena, item);
  else
    AnswerItemError(RespNothingDone(error), arena, item);
  return true;
}

// The commands' bytes are copied, because the item outlives the queue.
bool RespTransactions::PrepareQueued(const model::Account* account, base::Arena& arena,
                                     Item* item) {
  finder_.CountParsed(state_.multi_bytes);
  Transaction transaction;
  std::string error;
  bool goes_on = AddWatched(account, arena, &transaction.calls, &error);
  for (const RespState::Queued& queued : *state_.queued) {
    if (!goes_on) break;
    const std::span<std::string_view> arguments =
        arena.Allocate<std::string_view>(queued.arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = arena.Copy(queued.arguments[i]);
    goes_on = AddCommand({queued.command, arguments}, account, arena, item, &transaction, &error);
  }
  return Make(transaction, std::move(error), account, arena, item);
}

// A transaction that has come as a whole becomes one item, and the connection keeps nothing of it.
// If something is wrong with it, its commands are taken one by one, so that each gets its own
// error.
std::optional<size_t> RespTransactions::TakeWhole(std::string_view input, size_t consumed,
                                                  const resp::RequestLimits& limits,
                                                  const model::Account* account, base::Arena& arena,
                                                  Item* item) {
  if (state_.in_multi) return std::nullopt;
  Transaction transaction;
  std::string error;
  if (!AddWatched(account, arena, &transaction.calls, &error)) return std::nullopt;
  for (size_t bytes = 0; transaction.commands <= model::kRespCommandsMax;) {
    const std::string_view request = input.substr(consumed);
    const resp::RequestStep step = resp::NextRequest(request, limits, arena);
    if (step.result != resp::RequestStep::Result::kRequest) return std::nullopt;
    consumed += step.consumed;
    const RespCommand* const command = FindRespCommand(step.arguments[0]);
    const bool is_served = command != nullptr &&
                           step.arguments.size() <= model::kRespServedArgumentsMax &&
                           TakesArguments(*command, step.arguments.size());
    if (!is_served) return std::nullopt;
    if (command->verb == Verb::kExec) {
      base::Buffer queued;
      resp::AppendSimple("OK", &queued);
      for (size_t i = 0; i < transaction.commands; ++i) resp::AppendSimple("QUEUED", &queued);
      item->verb = NumberOf(*command);
      RespWorkOf(*item).queued = arena.Copy(queued.view());
      RespWorkOf(*item).commands = transaction.commands;
      finder_.CountParsed(consumed);
      if (!Make(transaction, {}, account, arena, item)) return 0;
      changes_.EndWatch(*item);
      return consumed;
    }
    bytes += BytesOf(step.arguments);
    const std::string why = WhyNotQueued({command, step.arguments}, bytes, transaction.commands,
                                         !transaction.token.empty());
    if (!why.empty()) {
      resp::WipeCopies(request, step.arguments);  // An AUTH is refused here.
      return std::nullopt;
    }
    if (!AddCommand({command, step.arguments}, account, arena, item, &transaction, &error))
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rowsocket::frontend
