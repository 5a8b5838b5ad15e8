// How a worker's connections get through a turn.
#include <algorithm>
#include <new>
#include <utility>

#include "exec/worker.h"

namespace rowsocket::exec {

void Worker::RunTurn(engine::Session& session) {
  std::vector<Client*>& ready = clients_.ready();
  std::vector<Client*>& in_turn = clients_.in_turn();
  turn_.Clear();
  core_.latency.LookForFlush();
  places_.Begin(core_.settings.account_limits);
  ClearArena();
  in_turn.clear();
  in_turn.swap(ready);
  Prepare(session);
  size_t served = 0;
  for (; served < in_turn.size() && turn_.size() < model::kTurnRequestsMax &&
         arena_->allocated_bytes() < model::kTurnArenaBytesMax;
       ++served) {
    Client& client = *in_turn[served];
    client.is_ready = false;
    if (client.is_retired()) continue;
    TakeInput(client, session);
    if (client.has_more && IsParsingLong()) {
      ++served;
      break;
    }
  }
  // The turn is full: the clients that it has no room for come first in the next turn.
  ready.insert(ready.end(), in_turn.begin() + static_cast<ptrdiff_t>(served), in_turn.end());
  in_turn.resize(served);
  const bool runs_batch = batches_ != nullptr && batches_->RunsHere();
  if (batches_ != nullptr && !runs_batch) batches_->Publish();
  // All clients of the turn are known now, and their outputs stay where they are until it has
  // ended.
  turn_.Run(session);
  if (!turn_.empty()) {
    core_.clock.HasWorked();
    if (batches_ != nullptr) batches_->NoteFinds();
  }
  AfterTurn(session);
  if (runs_batch) batches_->GatherOrRun(session);
}

// Most requests are parsed in less than a microsecond. A request that looks at all connections of a
// port takes milliseconds, and a turn may have thousands of them.
bool Worker::IsParsingLong() const {
  return base::CoarseNowMs() - core_.clock.now_ms > model::kTurnMsMax;
}

// A batch may have taken an item over that lies in the arena. The turn then gets a new arena, or,
// if there is no memory for one, goes on in the arena after the items of the turn before.
void Worker::ClearArena() {
  if (arena_.use_count() == 1) return arena_->Reset();
  try {
    arena_ = std::make_shared<base::Arena>();
  } catch (const std::bad_alloc&) {
  }
}

// One refresh serves all connections that asked for it in the turn before, because their requests
// were received before it. A refresh for each of them would let clients keep the worker busy with
// reading the mapping tables. If memory runs out, what the frontends share stays as it was.
void Worker::Prepare(engine::Session& session) {
  const bool now = std::exchange(core_.must_refresh, false);
  if (!core_.settings.prepare) return;
  try {
    core_.settings.prepare(session, now);
  } catch (const std::bad_alloc&) {
    session.Rollback();
    session.ReleaseTables();
  }
}

// A client for which memory runs out is closed, and gives back the memory that it has.
void Worker::TakeInput(Client& client, engine::Session& session) {
  try {
    // Requests that were received before are answered first: otherwise a client that sends faster
    // than it is answered fills its input buffer.
    if (client.can_receive && !client.has_more) ReceiveFrom(client);
    Parse(client, session);
  } catch (const std::bad_alloc&) {
    turn_.DropAllOf(client.turn);
    if (batches_ != nullptr) batches_->DropAllOf(client.turn);
    // Memory may have run out while names were looked up, perhaps within a transaction.
    session.Rollback();
    session.ReleaseTables();
    clients_.Lose(client, Loss::kMemory);
  }
}

// If TLS has taken the bytes off the socket earlier, with the handshake or with a record before,
// the input grows although the socket has given nothing.
void Worker::ReceiveFrom(Client& client) {
  const size_t bytes_before = client.connection.in().size();
  const auto received = client.connection.Receive(client.frontend->input_bytes_max());
  client.can_receive = received.may_have_more;
  if (received.bytes == 0 && client.connection.in().size() == bytes_before) return;
  client.NoteReceived(core_.clock.round_ns, /*was_empty=*/bytes_before == 0);
  core_.stats.Add(Stat::kBytesReceived, received.bytes);
  clients_.Touch(client);
}

void Worker::Parse(Client& client, engine::Session& session) {
  const bool accepts_work = client.connection.accepts_work();
  client.parsed = 0;
  // A client that has to take its replies first is asked again afterwards (ClientTable::Send).
  client.has_more = !accepts_work && !client.connection.in().empty();
  client.has_requests = client.closes = false;
  client.turn.stopped_at = nullptr;
  client.turn.loss = Loss::kNone;
  client.turn.Begin(client.oldest_ns, client.handed_back_ns);
  client.turn.held_items = 0;
  client.turn.out = &client.connection.out();
  if (!accepts_work) return;
  const uint64_t account = IdOf(client.frontend->account());
  const size_t before = turn_.size();
  const uint32_t places = places_.Left(account);
  if (!client.is_writer || !batches_->Parse(client, session, turn_, places))
    ParseIntoTurn(client, session, places);
  places_.Add(account, turn_.size() - before);
}

void Worker::ParseIntoTurn(Client& client, engine::Session& session, uint32_t places) {
  const bool has_batches = batches_ != nullptr;
  const ItemReader::Target target{turn_, *arena_, /*takes_writes=*/!has_batches,
                                  /*hands_writes_over=*/has_batches};
  const uint32_t share = std::min(model::kTurnRequestsPerConnectionMax, places);
  bool is_first = false;
  for (uint32_t count = 0;; ++count) {
    if (count == share || turn_.size() >= model::kTurnRequestsMax ||
        arena_->allocated_bytes() >= model::kTurnArenaBytesMax) {
      client.has_more = true;
      return;
    }
    const ItemReader::Parsed parsed = reader_.ReadOne(client, session, target);
    if (parsed == ItemReader::Parsed::kEnd) return;
    is_first = parsed == ItemReader::Parsed::kFirstWrite;
    if (parsed != ItemReader::Parsed::kMore) break;
  }
  // The requests before the write are answered first.
  client.is_writer = client.has_more = true;
  if (is_first && !batches_->Parse(client, session, turn_, places, arena_)) batches_->Await(client);
}

// If memory runs out, it is not known which finds have seen changes that are not durable yet, so
// their clients are lost.
uint64_t Worker::MarkUndurable(engine::Session& session) {
  try {
    return held_.MarkUndurable(turn_.items(), session);
  } catch (const std::bad_alloc&) {
    for (TurnItem& item : turn_.items()) item.client->loss = Loss::kMemory;
    return 0;
  }
}

// Ends the turn for one of its clients. False: the client is lost, or away.
bool Worker::EndTurnOf(Client& client, uint64_t commit) {
  if (client.turn.loss != Loss::kNone) {
    clients_.Lose(client, client.turn.loss);
    return false;
  }
  try {
    input_.Consume(client);
    if (client.is_retired() || !client.turn.may_see_undurable) return !client.is_retired();
    held_.Hold(client, commit);
  } catch (const std::bad_alloc&) {
    clients_.Lose(client, Loss::kMemory);
  }
  return false;
}

void Worker::AfterTurn(engine::Session& session) {
  std::vector<Client*>& in_turn = clients_.in_turn();
  // Clients none of whose items ran, or for whose account the turn had no place, go first in the
  // next turn.
  if (turn_.is_full() || places_.ran_out()) {
    std::stable_partition(in_turn.begin(), in_turn.end(), [](const Client* client) {
      return !client->is_retired() && !client->is_away() && client->was_passed_over();
    });
  }
  const uint64_t commit = MarkUndurable(session);
  if (!turn_.empty()) core_.NoteTurn(turn_, turn_.times().ended_ns, &session);
  for (Client* each : in_turn) {
    Client& client = *each;
    if (client.is_retired() || client.is_away()) continue;
    if (!EndTurnOf(client, commit)) continue;
    clients_.Send(client);
    if (!client.is_retired()) clients_.Touch(client);
  }
  if (!turn_.empty()) core_.NoteSent(turn_.times(), &session);
}

}  // namespace rowsocket::exec
