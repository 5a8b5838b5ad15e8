// SELECT, HELLO and MULTI change what the commands behind them mean. The connection takes the
// change when it parses such a command. Where the turn then stops before that command, so that it
// is parsed again, the connection takes the change back first.
#include <algorithm>

#include "frontend/resp/frontend.h"
#include "model/limits.h"

namespace rowsocket::frontend {

using exec::Item;
using Verb = RespVerb;

namespace {

/// Whether HELLO logs in, or may: with options that are wrong it only answers.
bool LogsIn(std::span<const std::string_view> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](std::string_view word) { return IsWord(word, "auth"); });
}

}  // namespace

bool RespFrontend::MustBeLater(const RespCommand& command, Arguments arguments) const {
  const Verb verb = command.verb;
  if (verb == Verb::kReset || verb == Verb::kQuit) return true;
  // Whether so many WATCHes fail is not known yet.
  if (state_.in_multi) return verb == Verb::kExec && watched_.count() > model::kRespWatchedKeysMax;
  return verb == Verb::kAuth || verb == Verb::kClient ||
         (verb == Verb::kHello && LogsIn(arguments));
}

void RespFrontend::NoteState(Item& item) {
  before_.push_back({state_, facts_.name});
  RespWorkOf(item).changes_state = true;
}

void RespFrontend::TakeBackState() {
  watched_.BeginTurn();
  if (before_.empty()) return;
  state_ = std::move(before_[before_begin_].state);
  facts_.name = std::move(before_[before_begin_].name);
  before_.clear();
  before_begin_ = 0;
  ShowFacts();
}

void RespFrontend::EndMultiState() {
  state_.in_multi = state_.multi_failed = false;
  state_.multi_bytes = 0;
  state_.queued.reset();
}

void RespFrontend::EndWatch(Item& item) {
  if (!is_behind_ && item.kind != Item::Kind::kRequest) return watched_.End();
  watched_.EndLater();
  RespWorkOf(item).ends_watch = true;
}

}  // namespace rowsocket::frontend
