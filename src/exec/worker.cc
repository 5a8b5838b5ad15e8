#include "exec/worker.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace rowsocket::exec {

namespace {

constexpr size_t kEventsMax = 512;
constexpr unsigned kAcceptsPerEventMax = 64;
/// With nothing to do for this long a worker gives its tables back, so that nobody waits for it.
constexpr int kReleaseTablesMs = 10;
/// How often an idle worker looks whether the server wants it to end.
constexpr int kTickMs = 200;
/// How long a listener rests when the process has no file descriptor left.
constexpr int64_t kAcceptPauseMs = 100;
/// How often it says so in the log.
constexpr int64_t kAcceptLogMs = 60'000;
constexpr int64_t kDescribeMs = 500;

}  // namespace

struct Worker::Client : net::IdleLink {
  Client(net::UniqueFd fd, net::ConnectionContext& context, std::unique_ptr<Frontend> made)
      : connection(std::move(fd), context), frontend(std::move(made)) {}

  net::Connection connection;
  std::unique_ptr<Frontend> frontend;
  TurnClient turn;
  size_t parsed = 0;        ///< Bytes of input that this turn's items and skipped bytes take.
  size_t place = 0;         ///< In clients_.
  bool is_ready = false;    ///< Is in ready_.
  bool can_receive = false;
  bool has_more = false;    ///< The input may hold further complete requests.
  bool has_requests = false;  ///< Requests of this connection are in the turn.
  bool waits = false;       ///< A lane has its request; the connection is left alone.
  bool retired = false;
};

Worker::Worker(const WorkerContext& context) : context_(context) {
  connection_context_.buffered_bytes_max = context_.limits.buffered_bytes_max;
  idle_.SetTimeout(int64_t{context_.limits.idle_timeout_s} * 1000);
  unauthenticated_.SetTimeout(int64_t{context_.limits.auth_timeout_s} * 1000);
  events_.resize(kEventsMax);
}

Worker::~Worker() {
  Stop();
  for (Client* client : orphans_) delete client;
}

bool Worker::Start() {
  if (!loop_.Open()) return false;
  thread_ = std::thread([this] { Main(); });
  return true;
}

void Worker::AskToStop() {
  stopping_.store(true, std::memory_order_relaxed);
  loop_.Wake();
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  AskToStop();
  thread_.join();
}

void Worker::Adopt(net::UniqueFd fd) {
  connections_.fetch_add(1, std::memory_order_relaxed);
  if (std::this_thread::get_id() == thread_.get_id()) {
    AddClient(std::move(fd));
    return;
  }
  {
    std::lock_guard lock(inbox_mutex_);
    inbox_connections_.push_back(std::move(fd));
  }
  loop_.Wake();
}

void Worker::Done(std::unique_ptr<WaitJob> job) {
  {
    std::lock_guard lock(inbox_mutex_);
    inbox_jobs_.push_back(std::move(job));
  }
  loop_.Wake();
}

void Worker::Main() {
  stats_ = std::make_unique<StatBlock>(*context_.stats);
  turn_ = std::make_unique<Turn>(*stats_);
  std::unique_ptr<engine::Session> session = context_.sessions->Create(engine::LockWait::kNever);
  if (session != nullptr) {
    for (net::Listener& listener : *context_.listeners) loop_.AddShared(listener.fd(), &listener);
    Loop(*session);
    for (net::Listener& listener : *context_.listeners) loop_.Remove(listener.fd());
  }
  CloseAll();
  session.reset();
  turn_.reset();
  stats_.reset();
}

void Worker::Loop(engine::Session& session) {
  DescribeTo(session);
  while (!stopping_.load(std::memory_order_relaxed) && !session.ShouldStop()) {
    const int timeout_ms = !ready_.empty()         ? 0
                           : session.HoldsTables() ? kReleaseTablesMs
                                                   : kTickMs;
    const bool any = HandleEvents(timeout_ms);
    TakeInbox();
    if (!ready_.empty()) {
      RunTurn(session);
    } else if (!any) {
      session.ReleaseTables();
    }
    CloseExpired();
    FreeRetired();
    DescribeTo(session);
  }
}

bool Worker::HandleEvents(int timeout_ms) {
  const std::span<const net::Event> events = loop_.Wait(events_, timeout_ms);
  for (const net::Event& event : events) {
    auto* listener = static_cast<net::Listener*>(event.tag());
    const net::Listener* first = context_.listeners->data();
    if (listener >= first && listener < first + context_.listeners->size()) {
      Accept(*listener);
      continue;
    }
    Client& client = *static_cast<Client*>(event.tag());
    if (client.retired) continue;
    const net::Connection::Ready ready = client.connection.OnEvents(event.ready());
    if (ready.send) SendTo(client);
    if (client.connection.state() == net::Connection::State::kBroken) {
      Retire(client);
    } else if (ready.receive) {
      client.can_receive = true;
      MarkReady(client);
    }
  }
  return !events.empty();
}

void Worker::Accept(net::Listener& listener) {
  using Status = net::Listener::AcceptStatus;
  for (unsigned i = 0; i < kAcceptsPerEventMax; ++i) {
    net::Listener::Accepted accepted = listener.Accept();
    if (accepted.status == Status::kTransient) continue;
    if (accepted.status == Status::kNone) return;
    if (accepted.status != Status::kAccepted) {
      PauseAccepting(accepted.status == Status::kOutOfFds
                         ? "no file descriptor left; raise open_files_limit"
                         : strerror(accepted.error));
      return;
    }
    stats_->Add(Stat::kConnectionsAccepted);
    context_.assign(std::move(accepted.fd));
  }
}

// The listeners stay readable: watching them would only spin until there is room again.
void Worker::PauseAccepting(const char* why) {
  stats_->Add(Stat::kConnectionsRefused);
  if (!accepts_) return;
  for (net::Listener& each : *context_.listeners) loop_.Remove(each.fd());
  accepts_ = false;
  const int64_t now_ms = base::CoarseNowMs();
  if (now_ms - accept_logged_ms_ > kAcceptLogMs) {
    accept_logged_ms_ = now_ms;
    context_.log(std::string("cannot accept connections: ") + why);
  }
  accept_again_ms_ = now_ms + kAcceptPauseMs;
}

void Worker::TakeInbox() {
  std::vector<net::UniqueFd> connections;
  std::vector<std::unique_ptr<WaitJob>> jobs;
  {
    std::lock_guard lock(inbox_mutex_);
    connections.swap(inbox_connections_);
    jobs.swap(inbox_jobs_);
  }
  for (net::UniqueFd& fd : connections) AddClient(std::move(fd));
  for (auto& job : jobs) FinishWait(*job);
  if (!accepts_ && base::CoarseNowMs() >= accept_again_ms_) {
    accepts_ = true;
    for (net::Listener& each : *context_.listeners) loop_.AddShared(each.fd(), &each);
  }
}

void Worker::AddClient(net::UniqueFd fd) {
  auto client = std::make_unique<Client>(std::move(fd), connection_context_,
                                         context_.make_frontend());
  client->turn.frontend = client->frontend.get();
  client->turn.out_bytes_max = context_.limits.buffered_bytes_max;
  if (!client->connection.UpdateInterest(loop_, client.get())) {
    connections_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  stats_->Add(Stat::kConnections);
  const int64_t now_ms = base::CoarseNowMs();
  if (client->frontend->authenticated()) idle_.Insert(*client, now_ms);
  else unauthenticated_.Insert(*client, now_ms);
  client->place = clients_.size();
  clients_.push_back(client.release());
}

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
  if (client.frontend->authenticated()) idle_.Touch(client, base::CoarseNowMs());
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
    if (client.can_receive) ReceiveFrom(client);
    ParseInto(client, session);
  }
  // The turn is full: those left over come first in the next one.
  ready_.insert(ready_.end(), in_turn_.begin() + static_cast<ptrdiff_t>(served), in_turn_.end());
  in_turn_.resize(served);
  // The clients are known now, and their outputs stay where they are until the turn has ended.
  turn_->Run(session);
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

void Worker::AfterTurn() {
  const int64_t now_ms = base::CoarseNowMs();
  for (Client* each : in_turn_) {
    Client& client = *each;
    if (client.retired) continue;
    ConsumeInput(client);
    SendTo(client);
    if (client.retired) continue;
    if (unauthenticated_.timeout_ms() != 0 && client.frontend->authenticated()) {
      idle_.Touch(client, now_ms);
    }
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
  client.frontend->Parse(job->line, false, job->arena, &job->item);
  client.frontend->Rewind();
  job->names = job->item.kind == Item::Kind::kOpen ? *job->item.names : job->item.index->names();
  client.waits = true;
  client.connection.SetInputHeld(true);
  context_.lane->Submit(std::move(job));
}

void Worker::FinishWait(WaitJob& job) {
  Client& client = *static_cast<Client*>(job.client);
  client.waits = false;
  if (client.retired) {
    std::erase(orphans_, &client);
    delete &client;
    return;
  }
  client.connection.SetInputHeld(false);
  const bool is_open = job.item.kind == Item::Kind::kOpen;
  if (!is_open || !job.outcome.ok()) {
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
    if (client.frontend->authenticated()) idle_.Touch(client, base::CoarseNowMs());
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

void Worker::Retire(Client& client) {
  if (client.retired) return;
  client.retired = true;
  client.Unlink();
  loop_.Remove(client.connection.fd());
  clients_[client.place] = clients_.back();
  clients_[client.place]->place = client.place;
  clients_.pop_back();
  stats_->Subtract(Stat::kConnections);
  connections_.fetch_sub(1, std::memory_order_relaxed);
  retired_.push_back(&client);
}

void Worker::CloseExpired() {
  const int64_t now_ms = base::CoarseNowMs();
  for (net::IdleList<Client>* list : {&idle_, &unauthenticated_}) {
    while (Client* client = list->Expired(now_ms)) {
      if (client->waits) {  // The lock wait has a timeout of its own.
        list->Insert(*client, now_ms);
        continue;
      }
      stats_->Add(Stat::kConnectionsTimedOut);
      Retire(*client);
    }
  }
}

void Worker::CloseAll() {
  while (!clients_.empty()) Retire(*clients_.back());
  FreeRetired();
}

// The lane still reads what a waiting connection asked for.
void Worker::FreeRetired() {
  for (Client* client : retired_) {
    if (client->waits) orphans_.push_back(client);
    else delete client;
  }
  retired_.clear();
}

void Worker::DescribeTo(engine::Session& session) {
  const int64_t now_ms = base::CoarseNowMs();
  if (described_ms_ != 0 && now_ms - described_ms_ < kDescribeMs) return;
  described_ms_ = now_ms;
  session.Describe(context_.name + ", " + std::to_string(clients_.size()) + " conns, " +
                   std::to_string(in_turn_.size()) + " active");
  in_turn_.clear();
}

}  // namespace rowsocket::exec
