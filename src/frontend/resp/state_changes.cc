#include "frontend/resp/state_changes.h"

#include <algorithm>
#include <string>

namespace rowsocket::frontend {

using exec::Item;

bool RespStateChanges::LogsIn(RespArguments arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](std::string_view word) { return IsWord(word, "auth"); });
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
