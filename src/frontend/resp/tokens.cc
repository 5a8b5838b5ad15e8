#include "frontend/resp/tokens.h"

#include <memory>

#include "frontend/resp/error_text.h"
#include "frontend/resp/item.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using exec::TokenedRequest;
using exec::Unit;
using model::ErrorCode;

namespace {

/// How the identities of transactions begin: with the version of the protocol, because a kept reply
/// is in one version, and must not answer a connection that speaks the other.
std::string_view BeginOf(resp::Version version) {
  return version == resp::Version::k3 ? "RESP3 " : "RESP2 ";
}

std::string FenceDenied(const model::Account& account) {
  return "NOPERM FENCE writes for another client: " +
         RespGrant("SELECT, INSERT, UPDATE", "rowsocket", "tokens", account);
}

}  // namespace

// Watched keys are not part of the identity: a client that sends a transaction again has watched
// them anew.
std::string RespTokens::IdentityOf(const RespState& state,
                                   std::span<const RespArguments> commands) {
  std::string identity(BeginOf(state.version));
  identity.append(state.database);
  for (const RespArguments arguments : commands) {
    identity.append(1, '*').append(std::to_string(arguments.size()));
    for (const std::string_view argument : arguments) {
      identity.append(1, ' ').append(std::to_string(argument.size()));
      identity.append(1, ':').append(argument);
    }
  }
  return identity;
}

TokenedRequest* RespTokens::Prepare(std::string_view token, std::string_view identity,
                                    base::Arena& arena, Item* item, std::string* error) {
  if (book_ == nullptr) book_ = std::make_unique<exec::TokenBook>(settings_);
  const engine::IndexNames* const to_open = book_->ToOpen();
  if (to_open == nullptr) {
    return exec::TokenBook::Describe(model::Value(arena.Copy(token)), identity, arena);
  }
  if (const model::Error failure = book_->TakeFailure(); !failure.ok()) {
    *error = RespFailureText(failure, RespWork(), nullptr, nullptr);
    return nullptr;
  }
  item->kind = Item::Kind::kSilentOpen;
  item->names = to_open;
  item->request.account = nullptr;  // The library opens its own table of tokens.
  return nullptr;
}

bool RespTokens::PrepareOutcome(RespArguments arguments, const model::Account* account,
                                base::Arena& arena, Item* item) {
  const bool fences = arguments.size() == 3 && IsWord(arguments[2], "fence");
  if (arguments.size() > (fences ? 3u : 2u) || !exec::IsToken(arguments[1])) {
    AnswerItemError("ERR syntax error: ROW.OUTCOME token [FENCE], a token of 1 to " +
                        std::to_string(model::kTokenBytesMax) + " bytes",
                    arena, item);
    return true;
  }
  std::string error;
  TokenedRequest* const tokened = Prepare(arguments[1], {}, arena, item, &error);
  if (tokened == nullptr && error.empty()) return false;
  if (!error.empty()) {
    AnswerItemError(error, arena, item);
    return true;
  }
  tokened->asks = fences ? TokenedRequest::Asks::kFence : TokenedRequest::Asks::kState;
  tokened->account = account;
  RespWork& work = RespWorkOf(*item);
  work.tokened = tokened;
  work.calls = arena.Allocate<RespCall>(1);
  work.calls[0].verb = RespVerb::kRowOutcome;
  work.calls[0].arguments = arguments;
  item->kind = Item::Kind::kRequest;
  item->request.account = account;  // The account only counts; the TokenBook checks rights.
  item->index = &book_->index();
  item->request.verb = model::Request::Verb::kEdit;
  const std::span<model::Value> key = arena.Allocate<model::Value>(1);
  key[0] = tokened->token;
  item->request.edit.key = key;
  item->is_composite = true;
  return true;
}

Outcome RespTokens::ExecuteOnce(const RespWork& work, Unit& unit, engine::Session& session,
                                base::Buffer& out, const std::function<Outcome()>& run) const {
  return book_->ExecuteUnit(*work.tokened, unit, session, out, run);
}

// The kept reply is shown only to clients that may see every table.
Outcome RespTokens::ExecuteOutcome(const RespWork& work, const model::Account* account,
                                   engine::Session& session, base::Buffer& out) const {
  exec::TokenFate fate;
  const Outcome outcome = book_->Ask(*work.tokened, session, &fate);
  if (!outcome.ok()) {
    const bool is_denied = account != nullptr && outcome.error.code == ErrorCode::kDenied;
    if (outcome.is_answer())
      resp::AppendError(is_denied ? FenceDenied(*account) : RespErrorText(outcome.error, work),
                        &out);
    return outcome;
  }
  resp::AppendArray(2, &out);
  resp::AppendBulk(exec::NameOf(fate.state), &out);
  const bool is_shown = fate.state == exec::TokenState::kDone && account == nullptr;
  if (!is_shown)
    resp::AppendNil(work.version, &out);
  else if (fate.request.starts_with(BeginOf(work.version)))
    out.Append(fate.answer);
  else
    resp::AppendBulk(fate.answer, &out);
  return outcome;
}

}  // namespace rowsocket::frontend
