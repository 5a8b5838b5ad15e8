// How a worker's connections get through a turn, and through a lock wait.
#include <algorithm>

#include "base/clock.h"
#include "exec/worker_client.h"

namespace rowsocket::exec {

void Worker::MarkReady(Client& client) {
  if (client.is_ready || client.waits || client.retired) return;
  client.is_ready = true;
  ready_.push_back(&client);
}

void Worker::ReceiveFrom(Client& client) {
  client.can_receive = false;
  const auto received = client.connection.Receive(client.frontend->input_bytes_max());
  if (received.bytes == 0) return;
  stats_->Add(Stat::kBytesReceived, received.bytes);
  Touch(client);
}

void Worker::RunTurn(engine::Session& session) {
  turn_->Clear();
  arena_.Reset();
  in_turn_.clear();
  in_turn_.swap(ready_);
  size_t served = 0;
  for (; served < in_turn_.size() && turn_->size() < model::kTurnRequestsMax &&
         arena_.allocated_bytes() < model::kTurnArenaBytesMax;
       ++served) {
    Client& client = *in_turn_[served];
    client.is_ready = false;
    if (client.retired) continue;
    // What is there is answered first: else a client that sends faster fills its input buffer.
    if (client.can_receive && !client.has_more) ReceiveFrom(client);
    ParseInto(client, session);
  }
  // The turn is full: those left over come first in the next one.
  ready_.insert(ready_.end(), in_turn_.begin() + static_cast<ptrdiff_t>(served), in_turn_.end());
  in_turn_.resize(served);
  // The clients are known now, and their outputs stay where they are until the turn has ended.
  turn_->Run(session);
  if (!turn_->empty()) worked_ms_ = base::CoarseNowMs();
  AfterTurn();
}

void Worker::ParseInto(Client& client, engine::Session& session) {
  client.parsed = 0;
  // A client that has to take its replies first is asked again when it has (SendTo).
  client.has_more = !client.connection.accepts_work() && !client.connection.in().empty();
  client.has_requests = false;
  client.turn.stopped_at = nullptr;
  client.turn.out = &client.connection.out();
  const std::string_view input = client.connection.in().view();
  uint32_t count = 0;
  while (client.connection.accepts_work()) {
    if (count == model::kTurnRequestsPerConnectionMax || turn_->size() >= model::kTurnRequestsMax ||
        arena_.allocated_bytes() >= model::kTurnArenaBytesMax) {
      client.has_more = true;
      return;
    }
    if (!ParseOne(client, session, input)) return;
    ++count;
  }
}

// False when nothing more of this client can go into the turn.
bool Worker::ParseOne(Client& client, engine::Session& session, std::string_view input) {
  TurnItem& item = turn_->Add(client.turn);
  item.input_begin = client.parsed;
  const Frontend::Step step = client.frontend->Parse(
      input.substr(client.parsed), client.has_requests, arena_, &item.item);
  if (step.parsed == Frontend::Parsed::kLater) {
    turn_->DropLast();
    client.frontend->Rewind();
    client.has_more = true;
    return false;
  }
  client.parsed += step.consumed;
  if (step.parsed == Frontend::Parsed::kNeedMore) {
    turn_->DropLast();
    return false;
  }
  item.input_end = client.parsed;
  if (item.is_silent_open()) return OpenSilently(client, session, item);
  client.has_requests = client.has_requests || item.item.kind == Item::Kind::kRequest;
  if (item.item.kind == Item::Kind::kOpen) return OpenInTurn(client, session, item);
  turn_->Added();
  return true;
}

bool Worker::OpenInTurn(Client& client, engine::Session& session, TurnItem& item) {
  std::shared_ptr<engine::Index> index;
  const engine::Outcome outcome = session.OpenIndex(*item.item.names, &index);
  if (!outcome.busy) client.frontend->Opened(item.item, outcome, std::move(index));
  turn_->Added();
  return !outcome.busy;
}

// What is at the front of the input is parsed again, at once or after the lane has waited.
bool Worker::OpenSilently(Client& client, engine::Session& session, TurnItem& item) {
  std::shared_ptr<engine::Index> index;
  const engine::Outcome outcome = session.OpenIndex(*item.item.names, &index);
  if (outcome.busy) return false;
  client.frontend->Opened(item.item, outcome, std::move(index));
  turn_->DropLast();
  client.frontend->Rewind();
  return true;
}

void Worker::AfterTurn() {
  for (Client* each : in_turn_) {
    Client& client = *each;
    if (client.retired) continue;
    ConsumeInput(client);
    SendTo(client);
    if (!client.retired) Touch(client);
  }
}

void Worker::ConsumeInput(Client& client) {
  TurnItem* stopped_at = client.turn.stopped_at;
  base::Buffer& in = client.connection.in();
  if (stopped_at == nullptr) {
    in.Consume(client.parsed);
    return;
  }
  in.Consume(stopped_at->input_begin);
  client.frontend->Rewind();
  client.has_more = true;
  if (stopped_at->waits) StartWait(client);
}

// The job gets a copy of the request's bytes: the turn's arena is reused before it is done.
void Worker::StartWait(Client& client) {
  const TurnItem& item = *client.turn.stopped_at;
  auto job = std::make_unique<WaitJob>();
  job->owner = this;
  job->client = &client;
  job->frontend = client.frontend.get();
  job->line.assign(client.connection.in().view().substr(0, item.input_end - item.input_begin));
  if (item.is_silent_open()) {
    job->item = item.item;
  } else {
    client.frontend->Parse(job->line, false, job->arena, &job->item);
  }
  client.frontend->Rewind();
  client.waits = true;
  client.job = job.get();
  client.connection.SetInputHeld(true);
  context_.lane->Submit(std::move(job));
}

void Worker::FinishWait(WaitJob& job) {
  Client& client = *static_cast<Client*>(job.client);
  client.waits = false;
  if (client.retired) {
    // One that was retired in this round is in retired_ still, and freed with the others.
    if (std::erase(orphans_, &client) != 0) delete &client;
    return;
  }
  client.connection.SetInputHeld(false);
  const bool is_open = job.item.kind == Item::Kind::kOpen;
  if (is_open && job.line.empty() && !job.outcome.ok()) {
    client.frontend->Opened(job.item, job.outcome, nullptr);
  } else if (!is_open || !job.outcome.ok()) {
    net::GatedOutput& out = client.connection.out();
    if (is_open) client.frontend->ReplyError(job.item, job.outcome.error, out.bytes());
    else out.bytes().Append(job.reply.view());
    out.OpenGate();
    client.connection.in().Consume(job.line.size());
    CountAnswer(job.item, job.outcome.error, job.outcome.rows, *stats_);
  }
  client.has_more = true;
  SendTo(client);
}

void Worker::SendTo(Client& client) {
  const net::Connection::Sent sent = client.connection.Send();
  if (sent.bytes != 0) {
    stats_->Add(Stat::kBytesSent, sent.bytes);
    Touch(client);
  }
  using State = net::Connection::State;
  if (client.has_more && client.connection.accepts_work()) MarkReady(client);
  const bool has_work = client.is_ready || client.waits || client.has_more;
  if (client.connection.state() == State::kBroken ||
      (client.connection.finished() && !has_work)) {
    Retire(client);
    return;
  }
  if (!has_work) client.connection.Settle();
  if (!client.connection.UpdateInterest(loop_, &client)) Retire(client);
}

}  // namespace rowsocket::exec
