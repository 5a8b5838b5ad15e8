#include "exec/worker.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

/// Events that one wait returns at most.
constexpr size_t kEventsMax = 512;
/// How often a worker does its chores.
constexpr int64_t kChoresEveryMs = 500;
/// How often a worker asks again whether its port may serve.
constexpr int kAskAgainMs = 100;
/// How long a turn under way may take when the worker is to stop, before it is interrupted.
constexpr std::chrono::milliseconds kStopPatience{500};

}  // namespace

Worker::Worker(const WorkerContext& context)
    : core_(context),
      held_(*context.commits, core_.loop),
      clients_(core_, held_),
      acceptor_(core_, clients_),
      logins_(core_, clients_, /*owner=*/*this),
      waits_(core_, clients_, held_, /*owner=*/*this),
      input_(waits_, logins_),
      reader_(core_),
      inbox_(core_.loop),
      turn_(core_.stats, *context.commits),
      events_(kEventsMax) {
  turn_.LimitTime(core_.settings.turn_ms_max);
  if (core_.settings.writes)
    batches_ = std::make_unique<BatchCollector>(core_, clients_, input_, reader_);
}

Worker::~Worker() { Stop(); }

bool Worker::Start() {
  if (!core_.loop.Open()) return false;
  // The kernel gives the lowest free number, so that a number this high means that all lower ones
  // are in use. InnoDB ends the server when it finds no descriptor for a file.
  if (core_.loop.highest_fd() >= core_.settings.limits.descriptors_max) {
    errno = EMFILE;
    return false;
  }
  if (batches_ != nullptr && !batches_->Start()) return false;
  return thread_.Start(*core_.context.sessions, engine::LockWait::kNever,
                       [this](engine::Session* session) { Main(session); });
}

void Worker::AskToStop() {
  if (!stopping_.exchange(true)) interrupt_from_ = SessionThread::Clock::now() + kStopPatience;
  core_.loop.Wake();
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  AskToStop();
  std::vector<SessionThread*> threads{&thread_};
  if (batches_ != nullptr) threads.push_back(&batches_->thread());
  SessionThread::AwaitEnd(threads, interrupt_from_);
  thread_.Join();
}

void Worker::DropMail() {
  const auto end = [this](std::unique_ptr<engine::LoginTicket> ticket) {
    if (ticket != nullptr) core_.settings.login_desk->End(std::move(ticket));
  };
  Inbox::Mail mail = inbox_.Take();
  while (const std::unique_ptr<LoginJob> job = mail.logins.Pop()) end(std::move(job->login.ticket));
  while (const std::unique_ptr<Client> client = mail.clients.Pop()) end(std::move(client->ticket));
}

void Worker::Adopt(net::UniqueFd fd) {
  clients_.CountComing();
  try {
    inbox_.Put(std::move(fd));
  } catch (const std::bad_alloc&) {
    clients_.CountGone();
    throw;
  }
}

void Worker::Done(WaitJobs jobs) { inbox_.Put(std::move(jobs)); }

void Worker::Admitted(std::unique_ptr<Client> client) {
  client->connection.MoveTo(clients_.connection_context());
  inbox_.Put(std::move(client));
}

// The pool gives such orders seldom. Two orders that overlap may mix target and count, which the
// next order repairs.
void Worker::GiveAway(Worker* target, uint32_t count) {
  give_to_.store(target, std::memory_order_relaxed);
  give_count_.store(count, std::memory_order_release);
}

void Worker::Main(engine::Session* session) {
  core_.load.run_time.Open();
  if (session == nullptr) {
    if (!core_.context.sessions->IsStopping()) ServeNobody();
  } else if (MayServe(*session)) {
    acceptor_.Listen();
    Loop(*session);
    acceptor_.StopListening();
  }
  if (batches_ != nullptr) batches_->Stop();
  TakeHeld(nullptr);
  held_.Close();
  clients_.CloseAll();
}

// Without memory, the worker cannot tell whether the port's account may serve, and does not serve.
bool Worker::MayServe(engine::Session& session) {
  try {
    if (core_.settings.may_serve == nullptr || AwaitAccount(session)) return true;
  } catch (const std::bad_alloc&) {
    ShutListeners();
    LogWithoutMemory("no memory to look up the account of a port (", "the port is closed");
    return false;
  }
  ShutListeners();
  return false;
}

// A statement that has locked the grants, or a KILL of this thread, keeps the account from being
// looked up for a while.
bool Worker::AwaitAccount(engine::Session& session) {
  while (!stopping_.load() && !session.ShouldStop()) {
    if (const std::optional<bool> may_serve = core_.settings.may_serve()) {
      // The waits below take no mail, but mail ends them: the loop has to look before it sleeps.
      core_.loop.Wake();
      return *may_serve;
    }
    session.ReleaseTables();  // Takes note of the KILL.
    core_.loop.Wait(events_, kAskAgainMs);
  }
  return false;
}

void Worker::LogWithoutMemory(const char* lacking, const char* consequence) const {
  try {
    core_.context.log(lacking + core_.settings.mode + "): " + consequence +
                      "; give the server more memory, and restart it");
  } catch (const std::bad_alloc&) {
  }
}

void Worker::ShutListeners() const {
  for (const net::Listener& listener : *core_.context.listeners) listener.ShutDown();
}

// Connections that were on their way to this worker, or that another worker sends before it sees
// that this one has no session, would wait for ever. A worker notes that it lacks a session before
// it looks at the others, so that, if the last ones fail at once, at least one of them sees that
// no worker is left.
void Worker::ServeNobody() {
  lacks_session_.store(true);
  const bool is_last = core_.context.worker_pool->Emptiest() == nullptr;
  if (is_last) ShutListeners();
  LogWithoutMemory("no memory for the session of a worker (",
                   is_last ? "the port is closed" : "the other workers serve alone");
  while (!stopping_.load(std::memory_order_relaxed) && !core_.context.sessions->IsStopping()) {
    TurnAway();
    core_.loop.Wait(events_, model::kSessionTickMs);
  }
}

void Worker::TurnAway() {
  Inbox::Mail mail = inbox_.Take();
  for (net::UniqueFd& fd : mail.connections) {
    fd.Reset();
    clients_.CountGone();
    clients_.CountRefused(Refusal::kMemory);
  }
  while (const std::unique_ptr<Client> client = mail.clients.Pop()) clients_.LoseMoved(*client);
  for (const auto& list : mail.lists) list->Add({});
}

void Worker::Loop(engine::Session& session) {
  DoChores(session);
  while (!stopping_.load(std::memory_order_relaxed) && !session.ShouldStop()) {
    const bool gathers = batches_ != nullptr && batches_->gathers();
    const int timeout_ms = !clients_.ready().empty() || gathers ? 0
                           : session.HasToRelease()             ? model::kReleaseTablesMs
                                                                : model::kSessionTickMs;
    HandleEvents(timeout_ms != 0 && IsBusyPolling() ? 0 : timeout_ms);
    const int64_t polled_ms = core_.clock.now_ms;
    TakeInbox(session);
    if (batches_ != nullptr) batches_->TakeDone(&session);
    TakeHeld(&session);
    logins_.EndAccounts();
    if (!clients_.ready().empty()) {
      if (busy_poll_.is_on()) EndBusyPoll(true);
      RunTurn(session);
      if (!turn_.empty() && clients_.ready().empty()) BeginBusyPoll();
    } else if (gathers)
      batches_->EndGather(session);
    ReleaseIdleTables(session);
    CloseExpired(polled_ms);
    clients_.FreeRetired();
    core_.hot_rows.Flush(core_.clock.now_ms);
    DoChores(session);
    core_.context.worker_pool->AdaptIfDue(core_.clock.now_ms);
  }
}

// The pool counts the moment of polling as sleep: it is no work, and no reason for another worker.
void Worker::BeginBusyPoll() {
  if (!busy_poll_.Begins(core_.load.ActiveLately(core_.context.worker_pool->period()))) return;
  const int64_t now_us = base::NowUs();
  busy_poll_.Begin(now_us);
  core_.load.FallAsleep(now_us);
}

bool Worker::IsBusyPolling() {
  if (!busy_poll_.is_on()) return false;
  if (busy_poll_.IsOver(base::NowUs())) EndBusyPoll(/*found=*/false);
  return busy_poll_.is_on();
}

void Worker::EndBusyPoll(bool found) {
  busy_poll_.End(found);
  WorkerLoad& load = core_.load;
  const int64_t slept_us = load.slept_us.load(std::memory_order_relaxed);
  load.WakeUp(base::NowUs());
  const int64_t us = load.slept_us.load(std::memory_order_relaxed) - slept_us;
  load.busy_polled_us.store(load.busy_polled_us.load(std::memory_order_relaxed) + us,
                            std::memory_order_relaxed);
}

// A worker is idle when it has executed no request for a while, even if other events keep its loop
// awake.
void Worker::ReleaseIdleTables(engine::Session& session) {
  const bool is_idle = base::CoarseNowMs() - core_.clock.worked_ms >= model::kReleaseTablesMs;
  if (is_idle && session.HasToRelease()) session.ReleaseTables();
}

std::span<const net::Event> Worker::WaitForEvents(int timeout_ms) {
  const bool is_counted = core_.context.worker_pool->is_elastic() && timeout_ms != 0;
  if (is_counted) core_.load.FallAsleep(base::NowUs());
  const std::span<const net::Event> events = core_.loop.Wait(events_, timeout_ms);
  core_.clock.BeginRound();
  if (is_counted) core_.load.WakeUp(core_.clock.round_ns / 1000);
  return events;
}

// A poll that was full may have left out clients that have sent something. The kernel reports
// events in their order, so that as many events as there are descriptors show who had sent
// something by the first of these polls.
void Worker::CloseExpired(int64_t polled_ms) {
  if (!may_have_more_events_) {
    events_taken_ = 0;
    return clients_.CloseExpired(polled_ms);
  }
  if (events_taken_ == 0) full_from_ms_ = polled_ms;
  events_taken_ += kEventsMax;
  // The last poll may have reported listeners beside the clients.
  if (events_taken_ < clients_.size() + kEventsMax) return;
  events_taken_ = 0;
  clients_.CloseExpired(full_from_ms_);
}

void Worker::HandleEvents(int timeout_ms) {
  const std::span<const net::Event> events = WaitForEvents(timeout_ms);
  may_have_more_events_ = events.size() + 1 >= kEventsMax;  // The loop's own event is left out.
  for (const net::Event& event : events) {
    if (net::Listener* const listener = acceptor_.ListenerOf(event.tag()); listener != nullptr) {
      Accept(*listener);
      continue;
    }
    Client& client = *static_cast<Client*>(event.tag());
    if (client.is_retired()) continue;
    try {
      HandleEvent(client, event.ready());
    } catch (const std::bad_alloc&) {
      clients_.Lose(client, Loss::kMemory);
    }
  }
}

void Worker::Accept(net::Listener& listener) {
  try {
    acceptor_.Accept(listener);
  } catch (const std::bad_alloc&) {
    clients_.CountRefused(Refusal::kMemory);
  }
}

void Worker::HandleEvent(Client& client, uint32_t ready) {
  if (!client.may_send()) {
    // The loop tells of an event once, so that it is noted even while the client is away.
    constexpr uint32_t kReceive = uint32_t{EPOLLIN} | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    client.can_receive = client.can_receive || (ready & kReceive) != 0;
    client.connection.OnEvents(ready);
    client.connection.SuspendIfLevelTriggered(core_.loop);
    return;
  }
  const net::Connection::Ready may = client.connection.OnEvents(ready);
  if (may.send) clients_.Send(client);
  if (client.connection.state() == net::Connection::State::kBroken) {
    clients_.Retire(client);
  } else if (may.receive) {
    if (client.is_new() && !Admit(client)) [[unlikely]]
      return;
    if (GiveIfAsked(client)) return;
    client.can_receive = true;
    clients_.MarkReady(client);
  }
}

// This worker goes on counting a client that is with the handshake thread, so that the limit of
// connections holds meanwhile.
bool Worker::Admit(Client& client) {
  std::array<char, model::kFirstBytesMax> room;
  bool has_ended = false;
  const std::string_view begin = client.connection.Peek(room, &has_ended);
  if (begin.empty()) return has_ended;
  client.life = Client::Life::kServed;
  HandshakeThread& handshakes = *core_.context.handshake_thread;
  if (begin.front() == net::kTlsFirstByte) {
    clients_.CountComing();
    handshakes.Put(clients_.Release(client), *this);
    return false;
  }
  if (handshakes.mode() != net::TlsMode::kRequired) return true;
  RefusePlain(client, begin);
  return false;
}

void Worker::RefusePlain(Client& client, std::string_view begin) {
  try {
    client.frontend->RefusePlain(begin, client.connection.out().bytes());
  } catch (const std::bad_alloc&) {
    return clients_.Lose(client, Loss::kMemory);
  }
  client.connection.out().OpenGate();
  client.connection.Finish();
  core_.stats.Add(Stat::kPlainRefused);
  clients_.Send(client);
}

// A connection moves when it has sent something and before that is received: nothing of it is under
// way then, so that its requests stay in order. The target counts the connection before this worker
// stops counting it, so that the limit of connections holds meanwhile.
bool Worker::GiveIfAsked(Client& client) {
  const uint32_t count = give_count_.load(std::memory_order_acquire);
  // A target that has ended would not give the account its login back.
  if (count == 0 || stopping_.load() || !clients_.MayMove(client)) return false;
  Worker* const target = give_to_.load(std::memory_order_relaxed);
  if (target == nullptr || target == this || target->lacks_session()) return false;
  if (count != kGiveAllAway) give_count_.store(count - 1, std::memory_order_relaxed);
  target->clients_.CountComing();
  std::unique_ptr<Client> moved = clients_.Release(client);
  core_.stats.Add(Stat::kConnectionsMoved);
  moved->connection.MoveTo(target->clients_.connection_context());
  target->inbox_.Put(std::move(moved));
  return true;
}

void Worker::TakeInbox(engine::Session& session) {
  Inbox::Mail mail = inbox_.Take();
  for (net::UniqueFd& fd : mail.connections) clients_.Add(std::move(fd));
  while (std::unique_ptr<Client> client = mail.clients.Pop()) {
    // The worker from which the client comes may have looked for ended accounts already.
    logins_.LookAt(*client);
    clients_.AddMoved(std::move(client));
  }
  // The worker is told to stop before the lane is. The flag is read after the mail was taken: if a
  // job came back because the lane ends, the flag is set.
  const bool is_stopping = stopping_.load() || session.ShouldStop();
  for (auto& job : mail.jobs) {
    // Logins does not look at a connection while the lane has it, and Finish may free it.
    logins_.LookAt(*job->client);
    waits_.Finish(*job, session, is_stopping);
  }
  while (const std::unique_ptr<LoginJob> job = mail.logins.Pop()) logins_.Finish(*job);
  if (mail.accounts_have_ended) logins_.LookForEnded();
  for (auto& list : mail.lists) AddTo(*list);
  acceptor_.Resume();
}

void Worker::AddTo(ConnectionList& list) const {
  std::vector<ConnectionInfo> rows;
  try {
    rows.reserve(clients_.size());
    for (const Client* const client : clients_.all()) {
      rows.push_back(clients_.Describe(*client, list.has_addresses()));
    }
    return list.Add(std::move(rows));
  } catch (const std::bad_alloc&) {
    list.Add({});  // Whatever has thrown, the list has not counted this worker yet.
  }
}

void Worker::TakeHeld(engine::Session* session) {
  while (Client* const client = held_.Next()) {
    clients_.ComeBack(*client);
    const int64_t sent_ns = base::NowNs();
    core_.NoteHeld(client->turn, sent_ns, session);
    core_.latency.AddHeld(client->turn, sent_ns);
  }
  core_.WriteSlow(session);
}

void Worker::DoChores(engine::Session& session) {
  const int64_t now_ms = base::CoarseNowMs();
  if (chores_done_ms_ != 0 && now_ms - chores_done_ms_ < kChoresEveryMs) return;
  chores_done_ms_ = now_ms;
  clients_.connection_context().buffers.Trim();
  DescribeTo(session);
  // The next text calls only those clients active that have a turn from now on.
  clients_.in_turn().clear();
}

void Worker::DescribeTo(engine::Session& session) {
  try {
    session.Describe(core_.settings.mode + ", " + std::to_string(clients_.size()) + " conns, " +
                     std::to_string(clients_.in_turn().size()) + " active");
  } catch (const std::bad_alloc&) {  // The process list goes on showing the last text.
  }
}

}  // namespace rowsocket::exec
