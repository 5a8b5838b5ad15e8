#include "frontend/resp/move.h"

#include <algorithm>

#include "base/require.h"
#include "frontend/resp/string_change.h"
#include "frontend/resp/string_row.h"
#include "frontend/resp/watch.h"
#include "keyspace/config.h"

namespace rowsocket::frontend {

using engine::Outcome;
using Verb = RespVerb;

namespace {

Outcome Take(RespWork& work, const RespCall& call, engine::Session& session) {
  RespMove& move = *call.move;
  move.is_taken = move.is_put = false;
  base::Buffer text;
  RespStringRow row(call, text);
  Outcome outcome;
  if (!call.key_cannot_exist) outcome = session.Execute(*call.index, call.request, row);
  if (!outcome.ok()) return outcome;
  work.bytes_read += row.value().size();
  move.is_taken = row.is_there();
  move.flags = row.flags();
  CountLookup(work, call, move.is_taken);
  if (!move.is_taken && move.removes) {
    return RefuseWith(work, "ERR no such key");
  }
  // RENAME of a key to itself has no call that puts the string, and is no unit of its own.
  if (work.moved != nullptr) {
    work.moved->value = move.is_taken ? row.value() : std::string_view();
    work.moved->expires_ms = row.expires_ms();
  }
  return outcome;
}

/// Writes one of the keys, by what Take has found.
Outcome Write(RespWork& work, const RespCall& call, engine::Session& session) {
  RespMove& move = *call.move;
  const bool puts = call.verb == Verb::kMovePut;
  if (puts) {
    ROWSOCKET_REQUIRE(work.moved != nullptr);
    const RespMoved& moved = *work.moved;
    call.string_command->value = moved.value;
    call.string_command->only_if_absent = move.only_if_absent;
    call.string_command->expires = moved.expires_ms == keyspace::kNever
                                       ? RespStringCommand::Expires::kNever
                                       : RespStringCommand::Expires::kAt;
    call.string_command->at_ms = moved.expires_ms;
  }
  if (call.key_cannot_exist && (!puts || !move.is_taken)) {
    Outcome outcome;
    StopIfThere(call, /*is_there=*/false, &outcome);
    return outcome;
  }
  if (call.key_cannot_exist) {
    return RefuseWith(work, "CONSTRAINT the key's columns cannot hold this key as it is");
  }
  RespStringChange change(call);
  model::Request request = call.request;
  request.edit.editor = &change;
  model::NoRows none;
  Outcome outcome = session.Execute(*call.index, request, none);
  if (!outcome.ok()) return outcome;
  work.bytes_read += change.bytes_read();
  StopIfThere(call, change.is_there(), &outcome);
  if (!change.wrong().empty()) {
    return RefuseWith(work, change.wrong());
  }
  if (puts) move.is_put = change.done();
  return outcome;
}

}  // namespace

bool IsSameRow(const RespCall& a, const RespCall& b, std::string* error) {
  if (a.container == nullptr && b.container == nullptr)
    return a.database == b.database && a.arguments[a.key_at] == b.arguments[b.key_at];
  if (a.container == b.container) {
    return std::equal(
        a.key.parts.begin(), a.key.parts.end(), b.key.parts.begin(), b.key.parts.end(),
        [](const model::Value& x, const model::Value& y) { return x.text() == y.text(); });
  }
  const auto table_of = [](const RespCall& call) {
    if (call.container == nullptr)
      return std::pair(keyspace::kRowsocketSchema, keyspace::kStoreTable);
    const keyspace::ContainerDefinition& definition = call.container->definition;
    return std::pair<std::string_view, std::string_view>(definition.db, definition.table);
  };
  if (table_of(a) == table_of(b)) {
    *error = "NOTSERVED RENAME and COPY between two containers of one table";
  }
  return false;
}

Outcome ExecuteMove(RespWork& work, const RespCall& call, engine::Session& session,
                    base::Buffer& out) {
  const Outcome outcome =
      call.verb == Verb::kMoveTake ? Take(work, call, session) : Write(work, call, session);
  if (!outcome.ok() || !call.is_last) return outcome;
  if (call.move->answers_number)
    resp::AppendInteger(call.move->is_put, &out);
  else
    resp::AppendSimple("OK", &out);
  return outcome;
}

}  // namespace rowsocket::frontend
