#include "frontend/resp/state_changes.h"

#include <algorithm>
#include <string>

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

bool RespStateChanges::MustBeLater(const RespCommand& command,
                                   std::span<const std::string_view> arguments) const {
  const Verb verb = command.verb;
  if (verb == Verb::kReset || verb == Verb::kQuit) return true;
  // An EXEC behind more WATCHes than kRespWatchedKeysMax allows fails by their answers, which are
  // not there yet.
  if (state_.in_multi) return verb == Verb::kExec && watched_.count() > model::kRespWatchedKeysMax;
  return verb == Verb::kAuth || verb == Verb::kClient ||
         (verb == Verb::kHello && LogsIn(arguments));
}

void RespStateChanges::Note(Item& item) {
  history_.Note(state_, own_client_.name());
  RespWorkOf(item).changes_state = true;
}

bool RespStateChanges::Undo() {
  watched_.BeginTurn();
  std::string name;
  if (!history_.Undo(&state_, &name)) return false;
  own_client_.SetName(name);
  return true;
}

void RespStateChanges::EndMulti(Item& item) {
  if (!state_.in_multi) return;
  if (MayComeToNothing() || item.kind == Item::Kind::kRequest) Note(item);
  state_.EndMulti();
  EndWatch(item);
}

void RespStateChanges::EndWatch(Item& item) {
  if (!MayComeToNothing() && item.kind != Item::Kind::kRequest) return watched_.End();
  watched_.EndLater();
  RespWorkOf(item).ends_watch = true;
}

void RespStateChanges::FailWatch(Item& item) {
  if (!MayComeToNothing()) return watched_.Fail();
  watched_.FailLater();
  RespWorkOf(item).fails_watch = true;
}

}  // namespace rowsocket::frontend
