// How a worker's connections get through a turn.
#include <algorithm>
#include <new>

#include "base/clock.h"
#include "exec/worker_client.h"

namespace rowsocket::exec {

void Worker::MarkReady(Client& client) {
  if (client.is_ready || client.is_away() || client.retired) return;
  client.is_ready = true;
  ready_.push_back(&client);
  if (context_.crew->is_elastic()) CountActive(client);
}

void Worker::ReceiveFrom(Client& client) {
  const auto received = client.connection.Receive(client.frontend->input_bytes_max());
  client.can_receive = received.may_have_more;
  if (received.bytes == 0) return;
  stats_->Add(Stat::kBytesReceived, received.bytes);
  Touch(client);
}

void Worker::RunTurn(engine::Session& session) {
  turn_->Clear();
  arena_.Reset();
  in_turn_.clear();
  in_turn_.swap(ready_);
  if (context_.prepare) context_.prepare(session, false);
  size_t served = 0;
  for (; served < in_turn_.size() && turn_->size() < model::kTurnRequestsMax &&
         arena_.allocated_bytes() < model::kTurnArenaBytesMax;
       ++served) {
    Client& client = *in_turn_[served];
    client.is_ready = false;
    if (client.retired) continue;
    TakeInput(client, session);
  }
  // The turn is full: those left over come first in the next one.
  ready_.insert(ready_.end(), in_turn_.begin() + static_cast<ptrdiff_t>(served), in_turn_.end());
  in_turn_.resize(served);
  const bool runs_batch = RunsBatchHere();
  if (!runs_batch) PublishBatch();
  // The clients are known now, and their outputs stay where they are until the turn has ended.
  turn_->Run(session);
  if (!turn_->empty()) {
    worked_ms_ = now_ms_ = base::CoarseNowMs();
    batches_without_finds_ = 0;
  }
  CountRequests(turn_->size());
  AfterTurn();
  gathers_ = runs_batch && GathersMore();
  if (runs_batch && !gathers_) RunBatchHere(session);
}

// Where memory runs out it is this client that wanted it: it goes, and gives back what it has.
void Worker::TakeInput(Client& client, engine::Session& session) {
  try {
    // What is there is answered first: else a client that sends faster fills its input buffer.
    if (client.can_receive && !client.has_more) ReceiveFrom(client);
    Parse(client, session);
  } catch (const std::bad_alloc&) {
    turn_->DropAllOf(client.turn);
    if (collecting_ != nullptr) collecting_->turn.DropAllOf(client.turn);
    // Names were being looked up, in a turn perhaps.
    session.Rollback();
    session.ReleaseTables();
    Lose(client, Loss::kMemory);
  }
}

void Worker::Parse(Client& client, engine::Session& session) {
  const bool accepts_work = client.connection.accepts_work();
  client.parsed = 0;
  // A client that has to take its replies first is asked again when it has (SendTo).
  client.has_more = !accepts_work && !client.connection.in().empty();
  client.has_requests = client.closes = false;
  client.turn.stopped_at = nullptr;
  client.turn.may_see_undurable = false;
  client.turn.loss = Loss::kNone;
  client.turn.out = &client.connection.out();
  if (!accepts_work || (client.writes && ParseIntoBatch(client, session))) return;
  ParseIntoTurn(client, session);
}

void Worker::ParseIntoTurn(Client& client, engine::Session& session) {
  const Place place{*turn_, arena_};
  for (uint32_t count = 0;; ++count) {
    if (count == model::kTurnRequestsPerConnectionMax || turn_->size() >= model::kTurnRequestsMax ||
        arena_.allocated_bytes() >= model::kTurnArenaBytesMax) {
      client.has_more = true;
      return;
    }
    const Parsed parsed = ParseOne(client, session, place);
    if (parsed == Parsed::kEnd) return;
    if (parsed == Parsed::kWrite) break;
  }
  // What was sent before it is answered first.
  client.writes = client.has_more = true;
  if (client.parsed == 0 && !ParseIntoBatch(client, session)) AwaitBatch(client);
}

// kEnd: nothing more of this client can be taken now.
Worker::Parsed Worker::ParseOne(Client& client, engine::Session& session, Place place) {
  TurnItem& item = place.turn.Add(client.turn);
  item.input_begin = client.parsed;
  const Frontend::Step step =
      client.frontend->Parse(client.connection.in().view().substr(client.parsed),
                             client.has_requests, place.arena, &item.item);
  const bool is_misplaced = executor_ != nullptr && &place.turn == turn_.get() &&
                            step.parsed == Frontend::Parsed::kItem && item.is_write();
  if (step.parsed == Frontend::Parsed::kLater || is_misplaced) {
    place.turn.DropLast();
    client.frontend->Rewind();
    client.has_more = true;
    return is_misplaced ? Parsed::kWrite : Parsed::kEnd;
  }
  client.parsed += step.consumed;
  if (step.parsed == Frontend::Parsed::kNeedMore) {
    place.turn.DropLast();
    return Parsed::kEnd;
  }
  item.input_end = client.parsed;
  bool goes_on = true;
  if (item.is_silent_open()) {
    goes_on = OpenSilently(client, session, place);
  } else {
    client.has_requests =
        client.has_requests || item.item.kind == Item::Kind::kRequest || item.item.is_large;
    if (item.item.kind == Item::Kind::kOpen) goes_on = OpenInTurn(client, session, item);
    client.closes = item.item.closes;
    goes_on = goes_on && !client.closes;
    place.turn.Added();
  }
  return goes_on ? Parsed::kMore : Parsed::kEnd;
}

bool Worker::OpenInTurn(Client& client, engine::Session& session, TurnItem& item) {
  std::shared_ptr<engine::Index> index;
  const engine::Outcome outcome = session.OpenIndex(*item.item.names, &index);
  if (!outcome.busy) client.frontend->Opened(item.item, outcome, std::move(index));
  return !outcome.busy;
}

// What is at the front of the input is parsed again, at once or after the lane has waited.
bool Worker::OpenSilently(Client& client, engine::Session& session, Place place) {
  TurnItem& item = place.turn.items().back();
  if (item.item.names == nullptr) {
    context_.prepare(session, true);
  } else {
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome = session.OpenIndex(*item.item.names, &index);
    if (outcome.busy) return false;
    client.frontend->Opened(item.item, outcome, std::move(index));
  }
  place.turn.DropLast();
  client.frontend->Rewind();
  return true;
}

void Worker::AfterTurn() {
  // Of whom a full turn has executed nothing comes first in the next one.
  if (turn_->is_full()) {
    std::stable_partition(in_turn_.begin(), in_turn_.end(), [](const Client* client) {
      return !client->retired && !client->in_batch && client->is_left();
    });
  }
  const uint64_t commit =
      context_.commits->MarkUndurable(turn_->items(), *session_, /*watcher=*/*this);
  for (Client* each : in_turn_) {
    Client& client = *each;
    if (client.retired || client.in_batch) continue;
    if (client.turn.loss != Loss::kNone) {
      Lose(client, client.turn.loss);
      continue;
    }
    ConsumeInput(client);
    if (client.retired) continue;
    if (client.turn.may_see_undurable) {
      Hold(client, commit);
      continue;
    }
    SendTo(client);
    if (!client.retired) Touch(client);
  }
}

void Worker::ConsumeInput(Client& client) {
  TurnItem* stopped_at = client.turn.stopped_at;
  base::Buffer& in = client.connection.in();
  if (stopped_at == nullptr) {
    in.Consume(client.parsed);
    if (!client.closes) return;
    client.has_more = false;
    client.connection.Finish();
    return;
  }
  in.Consume(stopped_at->input_begin);
  client.frontend->Rewind();
  client.has_more = true;
  if (stopped_at->waits) StartWait(client);
  client.turn.stopped_at = nullptr;
}

void Worker::SendTo(Client& client) {
  const net::Connection::Sent sent = client.connection.Send();
  if (sent.bytes != 0) {
    stats_->Add(Stat::kBytesSent, sent.bytes);
    Touch(client);
  }
  using State = net::Connection::State;
  const bool asks = client.has_more || client.can_receive;
  if (asks && client.connection.accepts_work()) MarkReady(client);
  const bool has_work = client.is_ready || client.is_away() || client.has_more;
  if (client.connection.state() == State::kBroken || (client.connection.finished() && !has_work)) {
    Retire(client);
    return;
  }
  if (!has_work) client.connection.Settle();
  if (!client.connection.CountBuffers()) return Lose(client, Loss::kBuffers);
  if (!client.connection.UpdateInterest(loop_, &client)) Retire(client);
}

}  // namespace rowsocket::exec
