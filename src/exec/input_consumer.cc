#include "exec/input_consumer.h"

#include "base/require.h"

namespace rowsocket::exec {

void InputConsumer::Consume(Client& client) const {
  logins_.LookForOtherAccount(client);
  const TurnItem* const stopped_at = client.turn.stopped_at;
  if (stopped_at == nullptr) {
    client.Consume(client.parsed);
    if (!client.closes) return;
    client.has_more = false;
    client.connection.Finish();
    return;
  }
  client.Consume(stopped_at->input_begin);
  client.frontend->Rewind();
  client.has_more = true;
  if (stopped_at->item.kind == Item::Kind::kAuthenticate) {
    // A login is never read in a turn that has a request of its client, so that no reply of the
    // client is held.
    ROWSOCKET_REQUIRE(!client.turn.may_see_undurable);
    logins_.Start(client, *stopped_at);
  } else if (stopped_at->waits()) {
    waits_.Start(client, *stopped_at);
  }
  client.turn.stopped_at = nullptr;
}

}  // namespace rowsocket::exec
