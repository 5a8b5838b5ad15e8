// Requests with a token, which take effect once (`T`).
#include <algorithm>
#include <string>

#include "frontend/handlersocket/frontend.h"
#include "model/limits.h"
#include "protocol/handlersocket/encoder.h"
#include "protocol/handlersocket/line_words.h"

namespace rowsocket::frontend {

using exec::Item;
using handlersocket::Command;
using model::ErrorCode;

void HandlerSocketFrontend::AppendIdentity(std::string_view line, const engine::Index& index,
                                           std::string* text) {
  const auto append = [text](std::string_view name) {
    text->append(std::to_string(name.size())).append(1, ':').append(name);
  };
  const engine::IndexNames& names = index.names();
  // The empty name and PRIMARY both name the primary key.
  const std::string index_name = names.index == "PRIMARY" ? "" : names.index;
  for (const std::string& name : {names.db, names.table, index_name}) append(name);
  for (const std::string& column : names.columns) append(column);
  text->append(1, ';');
  for (const std::string& column : names.filter_columns) append(column);
  // The line is kept without its id, because another connection may have opened the same index with
  // another id.
  text->append(line.substr(std::min(line.find('\t'), line.size())));
}

// Prepares `T <token> <request>`. False when an index of the table of tokens has to be opened
// first.
bool HandlerSocketFrontend::PrepareOnceRequest(const handlersocket::TokenLine& line,
                                               base::Arena& arena, Item* item) {
  const model::Value token = handlersocket::WordValue(line.token, arena);
  Command command = handlersocket::ParseLine(line.request, parse_limits(), arena);
  if (!exec::IsToken(token.text()) || command.kind != Command::Kind::kRequest ||
      !command.wants_write) {
    command.errors.Add(ErrorCode::kToken);
  }
  if (command.kind != Command::Kind::kRequest) command.has_index_id = false;
  PrepareRequest(command, item);
  if (item->kind != Item::Kind::kRequest) return true;
  std::string identity;
  AppendIdentity(line.request, *item->index, &identity);
  return AttachToken(token, identity, arena, item);
}

bool HandlerSocketFrontend::AttachToken(model::Value token, std::string_view identity,
                                        base::Arena& arena, Item* item) {
  if (!exec::IsToken(token.text())) {
    item->kind = Item::Kind::kReply;
    item->error.code = ErrorCode::kToken;
    return true;
  }
  if (tokens_ == nullptr) tokens_ = std::make_unique<exec::TokenBook>(settings_.tokens);
  const engine::IndexNames* to_open = tokens_->ToOpen();
  if (to_open == nullptr) {
    item->detail = exec::TokenBook::Describe(token, identity, arena);
    item->is_composite = true;
    return true;
  }
  item->error = tokens_->TakeFailure();
  if (!item->error.ok()) {
    item->kind = Item::Kind::kReply;
    return true;
  }
  item->kind = Item::Kind::kSilentOpen;
  item->names = to_open;
  item->request.account = nullptr;  // The library opens its own table of tokens.
  return false;
}

// Prepares a question about a token. False when an index of the table of tokens has to be opened
// first. The table is the library's own: a client that only asks needs no right on it. A fence
// writes to it for another client, so that the client that fences needs the right.
bool HandlerSocketFrontend::PrepareTokenQuestion(model::Value token, bool fences,
                                                 base::Arena& arena, Item* item) {
  handlersocket::ErrorSet errors;
  if (!authenticated_) errors.Add(ErrorCode::kUnauth);
  if (!settings_.writable) errors.Add(ErrorCode::kReadonly);
  item->error.code = errors.First();
  if (!item->error.ok()) return true;
  if (!AttachToken(token, {}, arena, item)) return false;
  if (item->detail == nullptr) return true;
  using Asks = exec::TokenedRequest::Asks;
  auto* const tokened = static_cast<exec::TokenedRequest*>(item->detail);
  tokened->asks = fences ? Asks::kFence : Asks::kState;
  tokened->account = account();
  item->kind = Item::Kind::kRequest;
  item->request.account = account();  // The account only counts; the TokenBook checks rights.
  item->index = &tokens_->index();
  item->request.verb = model::Request::Verb::kEdit;
  std::span<model::Value> key = arena.Allocate<model::Value>(1);
  key[0] = token;
  item->request.edit.key = key;
  return true;
}

// The kept answer is shown only to clients that may see every table.
engine::Outcome HandlerSocketFrontend::Ask(const exec::TokenedRequest& tokened,
                                           engine::Session& session, base::Buffer& out) const {
  exec::TokenFate fate;
  const engine::Outcome outcome = tokens_->Ask(tokened, session, &fate);
  if (!outcome.is_answer()) return outcome;
  if (outcome.ok())
    handlersocket::AppendTokenState(exec::NameOf(fate.state),
                                    account() == nullptr ? fate.answer : "", &out);
  else
    handlersocket::AppendError(outcome.error, &out);
  return outcome;
}

}  // namespace rowsocket::frontend
